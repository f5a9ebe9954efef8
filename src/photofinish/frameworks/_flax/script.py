"""What makes a program of the printed module (../../scripts.py)."""

CHANNELS_LAST = True
READ = "float(loss)"
REPLICATED = (
    (r"^import jax$", "import jax\nfrom jax.sharding import NamedSharding, PartitionSpec"),
    (r"^(weights, memory) = (nnx\.state\(model\), nnx\.state\(optimizer\))$",
     r"\1 = jax.device_put((\2), NamedSharding(mesh, PartitionSpec()))"))
MESH = "mesh = jax.make_mesh((len(jax.devices()),), (\"batch\",))\n"
PARALLEL = {
    "sharded": ("python FILE, on several devices", REPLICATED + (
        (r"^batches = \[drawn_batch\(\)\]", MESH +
         "batches = [jax.device_put(drawn_batch(), NamedSharding(mesh, PartitionSpec(\"batch\")))]"),)),
    "distributed": ("python FILE ADDRESS 2 RANK, in two processes of ranks 0 and 1; ADDRESS is rank 0's", REPLICATED + (
        (r"^from functools import partial$", "import sys\nfrom functools import partial"),
        (r"^batches = \[drawn_batch\(\)\]", "address, world, rank = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\n"
         "jax.distributed.initialize(address, world, rank)\n" + MESH +
         "batches = [tuple(jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec(\"batch\")),\n"
         "    each[rank::world]) for each in drawn_batch())]"),))}
