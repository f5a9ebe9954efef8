"""torch.autocast to float16 of an inference. Training in float16 needs its loss scaled, which no step here does."""

from photofinish.frameworks._torch.modes.bf16 import Mode as Autocast


class Mode(Autocast):
    """As in bfloat16, with 11 bits of mantissa and a narrower range."""

    form = "float16"
    trains = False
