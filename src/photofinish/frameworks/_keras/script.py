"""What makes a program of the printed module (../../scripts.py)."""

CHANNELS_LAST = True
STEP = "loss = train_step({})"
READ = "float(loss)"
REPLICAS = (
    (r"^(optimizer = .*)\n(optimizer\.build.*)$", r"with strategy.scope():\n    \1\n    \2"),
    (r"^(        loss = loss_of\(.*\))$", r"\1 / strategy.num_replicas_in_sync"),
    (r"^def drawn_batch", "@tf.function\ndef parallel_step(*batch):\n    losses = strategy.run(train_step, batch)\n"
     "    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)\n\n\ndef drawn_batch"),
    (r"^batches = \[drawn_batch\(\)\] \* (\d+)$", "batches = strategy.experimental_distribute_dataset(\n"
     r"    tf.data.Dataset.from_tensor_slices(drawn_batch()).batch({batch}).repeat(\1))"),
    (r"^    loss = train_step\(", "    loss = parallel_step("))
MODEL = r"^(model.* = build\(\))$"
PARALLEL = {
    "mirrored": ("python FILE, on two GPUs (run on two logical CPUs only)", REPLICAS + (
        (MODEL, r"strategy = tf.distribute.MirroredStrategy()\nwith strategy.scope():\n    \1"),)),
    "multiworker": ("python FILE, in two processes; TF_CONFIG tells each the addresses and its own", REPLICAS + (
        (MODEL, r"strategy = tf.distribute.MultiWorkerMirroredStrategy()\nwith strategy.scope():\n    \1"),))}
