"""What makes a program of the printed module (../../scripts.py)."""

CHANNELS_LAST = True
READ = "float(loss)"
PARALLEL = {
    "sharded": ("python FILE, on several devices", (
        (r"^import jax$", "import jax\nfrom jax.sharding import NamedSharding, PartitionSpec"),
        (r"^batches = \[drawn_batch\(\)\]", "mesh = jax.make_mesh((len(jax.devices()),), (\"batch\",))\n"
         "batches = [jax.device_put(drawn_batch(), NamedSharding(mesh, PartitionSpec(\"batch\")))]"),
        (r"^(weights, memory) = (nnx\.state\(model\), nnx\.state\(optimizer\))$",
         r"\1 = jax.device_put((\2), NamedSharding(mesh, PartitionSpec()))")))}
