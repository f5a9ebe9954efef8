"""What makes a program of the printed module (../../scripts.py)."""

FEED = "torch.from_numpy({})"
READ = "loss.item()"
PARALLEL = {
    "ddp": ("torchrun --nproc-per-node 2 FILE", (
        (r"^import torch$", "import torch\nimport torch.distributed as dist"),
        (r"^from torch import nn$", "from torch import nn\nfrom torch.nn.parallel import DistributedDataParallel"),
        (r"^batches = \[drawn_batch\(\)\]", "dist.init_process_group(\"gloo\")\n"
         "rank, world = dist.get_rank(), dist.get_world_size()\n"
         "batches = [tuple(each[rank::world] for each in drawn_batch())]"),
        (r"^model = Model\(\)$", "model = DistributedDataParallel(Model())"),
        (r"\Z", "dist.destroy_process_group()\n"))),
    "dp": ("python FILE, on two GPUs (never run)", (
        (r"^batches = \[drawn_batch\(\)\]", "batches = [tuple(each.cuda() for each in drawn_batch())]"),
        (r"^model = Model\(\)$", "model = nn.DataParallel(Model()).cuda()")))}
