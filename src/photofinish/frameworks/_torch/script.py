"""What makes a program of the printed module (../../scripts.py)."""

from typing import Tuple

from photofinish.frameworks import Unsupported
from photofinish.frameworks._torch.divisible import module_of, written_plan
from photofinish.frameworks._torch.stages import stages
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph
from photofinish.layers import GRU, LSTM

FEED = "torch.from_numpy({})"
READ = "loss.item()"

TORCHRUN = "torchrun --nproc-per-node 2 FILE"
IMPORT = (r"^import torch$", "import torch\nimport torch.distributed as dist")
LEAVE = (r"\Z", "dist.destroy_process_group()\n")
JOIN = (
    IMPORT,
    (r"^batches = \[drawn_batch\(\)\]", "dist.init_process_group(\"gloo\")\n"
     "rank, world = dist.get_rank(), dist.get_world_size()\n"
     "batches = [tuple(each[rank::world] for each in drawn_batch())]"),
    LEAVE)
DDP = JOIN + (
    (r"^from torch import nn$", "from torch import nn\nfrom torch.nn.parallel import DistributedDataParallel"),
    (r"^model = Model\(\)$", "model = DistributedDataParallel(Model())"))
HOOKS = "torch.distributed.algorithms.ddp_comm_hooks"
HOOKED = r"^model = DistributedDataParallel\(Model\(\)\)$"
HOROVODRUN = "horovodrun -np 2 --gloo python FILE"
WRAPPED = "optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(){})"
HOROVOD = (
    (r"^import torch$", "import horovod.torch as hvd\nimport torch"),
    (r"^batches = \[drawn_batch\(\)\]",
     "hvd.init()\nbatches = [tuple(each[hvd.rank()::hvd.size()] for each in drawn_batch())]"),
    (r"^model = Model\(\)$", r"\g<0>\nhvd.broadcast_parameters(model.state_dict(), root_rank=0)"))
TENSOR = (
    IMPORT,
    (r"^from torch import nn$", r"\g<0>\nfrom torch.distributed.device_mesh import init_device_mesh\n"
     "from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module"),
    (r"^batches = \[drawn_batch\(\)\]", 'dist.init_process_group("gloo")\n'
     r"torch.manual_seed(0)  # all draw the same numbers\n\g<0>"),
    LEAVE)
HEADS = (r"\(x\.unflatten\(2, \(heads, -1\)\)", "(x.unflatten(2, (heads // dist.get_world_size(), -1))")


def tensor(graph: Graph) -> Tuple[Tuple[str, str], ...]:
    """The plan is of the model. Raises Unsupported where nothing can be shared."""
    plan = written_plan(graph, 2)
    if not plan:
        raise Unsupported("no attention and no two linear layers in a row that two processes could share")
    rows = "".join('    "{}": {},\n'.format(*each) for each in plan.items())
    call = 'parallelize_module(model, init_device_mesh("cpu", (dist.get_world_size(),)), {{\n{}}})'.format(rows)
    own_heads = (HEADS,) if "ColwiseParallel()" in plan.values() else ()
    return TENSOR + own_heads + ((r"^model = Model\(\)$", r"\g<0>\n" + call),)


PIPELINE = (
    IMPORT,
    (r"^from torch import nn$",
     r"\g<0>\nfrom torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline"),
    (r"^batches = \[drawn_batch\(\)\]", 'dist.init_process_group("gloo")\n'
     "rank, world = dist.get_rank(), dist.get_world_size()\n"
     r"torch.manual_seed(0)  # all draw the same weights\n\g<0>"),
    (r"^( +)loss, _ = training_loss\(model, (\w+), (\w+)\)\n +loss\.backward\(\)$",
     r"\1losses = []\n\1schedule.step(*([\2] if rank == 0 else []), target=\3, losses=losses)"),
    (r"^( +)print\(loss\.item\(\)\)$",
     r"\1if losses:  # of the parts, at the last stage\n\1    print(torch.stack(losses).mean().item())"),
    LEAVE)
STAGE = """\
pipe = pipeline(Model(), (batches[0][0].chunk(world)[0],), split_spec={{"{}": SplitPoint.BEGINNING}})
stage = pipe.build_stage(rank, torch.device("cpu"))
schedule = ScheduleGPipe(stage, world, lambda output, target: training_loss(lambda _: output, None, target)[0])
model = stage.submod"""


def gpipe(graph: Graph) -> Tuple[Tuple[str, str], ...]:
    """Two stages. Raises Unsupported for what PyTorch's front end does not pass on: it traces the model, and gives a
    stage what the one before it made, and nothing else."""
    first, last = stages(graph, 2)
    if graph.state or len(graph.inputs) > 1 or len(graph.outputs) > 1:
        raise Unsupported("a pipeline is written for models of one input and one output without running statistics")
    if set(first.parameters) & set(last.parameters):
        raise Unsupported("both stages have {}".format(min(set(first.parameters) & set(last.parameters))))
    passed = {name for name, _ in last.inputs}
    if any(isinstance(node.layer, (GRU, LSTM)) for node in first.nodes if passed & set(node.outputs)):
        raise Unsupported("gloo sends contiguous tensors only, and what PyTorch's recurrent layers make is not")
    begin = next(node for node in last.nodes if "weight" in dict(node.parameters))
    return PIPELINE + ((r"^model = Model\(\)$", STAGE.format(module_of(begin, places(graph)))),)


OPTIMIZER = r"^optimizer = torch\.optim\..*$"
PARALLEL = {
    "ddp": (TORCHRUN, DDP),
    "ddp-fp16": (TORCHRUN, DDP + (
        (r"^from torch import nn$", r"\g<0>\nfrom {}.default_hooks import fp16_compress_hook".format(HOOKS)),
        (HOOKED, r"\g<0>\nmodel.register_comm_hook(None, fp16_compress_hook)"))),
    "ddp-powersgd": (TORCHRUN, DDP + (
        (r"^from torch import nn$", r"\g<0>\nfrom {}.powerSGD_hook import PowerSGDState, powerSGD_hook".format(HOOKS)),
        (HOOKED, "model = DistributedDataParallel(Model(), bucket_cap_mb=10_000)  # over gloo it takes one bucket\n"
         "model.register_comm_hook(PowerSGDState(None, 1, start_powerSGD_iter=2), powerSGD_hook)"))),
    "ddp-localsgd": (TORCHRUN, DDP + (
        (r"^from torch import nn$", r"\g<0>\nfrom {}.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook\n"
         "from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager".format(HOOKS)),
        (HOOKED, r"\g<0>\nmodel.register_comm_hook(PostLocalSGDState(None, None, 0, False), post_localSGD_hook)\n"
         "averager = PeriodicModelAverager(period=4)"),
        (r"^( +)optimizer\.step\(\)$", r"\g<0>\n\g<1>averager.average_parameters(model.parameters())"))),
    "ddp-accumulate": (TORCHRUN, DDP + (
        (r"^( +)loss, _ = training_loss\(model, (.*)\)\n +loss\.backward\(\)$",
         r"\1*parts, last = zip(*(each.chunk(2) for each in (\2)))\n"
         r"\1with model.no_sync():\n"
         r"\1    for part in parts:\n"
         r"\1        loss, _ = training_loss(model, *part)\n"
         r"\1        (loss / 2).backward()\n"
         r"\1loss, _ = training_loss(model, *last)\n"
         r"\1(loss / 2).backward()"),)),
    "zero": (TORCHRUN, DDP + (
        (r"^from torch import nn$", r"\g<0>\nfrom torch.distributed.optim import ZeroRedundancyOptimizer"),
        (r"^optimizer = (torch\.optim\.\w+)\(model\.parameters\(\), (.*)\)$",
         r"optimizer = ZeroRedundancyOptimizer(model.parameters(), \1, \2)"))),
    "fsdp2": (TORCHRUN, JOIN + (
        (r"^from torch import nn$", "from torch import nn\nfrom torch.distributed.device_mesh import init_device_mesh\n"
         "from torch.distributed.fsdp import fully_shard"),
        (r"^model = Model\(\)$", r'\g<0>\nfully_shard(model, mesh=init_device_mesh("cpu", (world,)))'))),
    "tensor": (TORCHRUN, tensor),
    "gpipe": (TORCHRUN, gpipe),
    "horovod": (HOROVODRUN, HOROVOD + ((OPTIMIZER, r"\g<0>\n" + WRAPPED.format("")),)),
    "horovod-fp16": (HOROVODRUN, HOROVOD + (
        (OPTIMIZER, r"\g<0>\n" + WRAPPED.format(", compression=hvd.Compression.fp16")),)),
    "dp": ("python FILE, on two GPUs (never run)", (
        (r"^batches = \[drawn_batch\(\)\]", "batches = [tuple(each.cuda() for each in drawn_batch())]"),
        (r"^model = Model\(\)$", "model = nn.DataParallel(Model()).cuda()")))}
