"""Which variables of a user's shell are orders to a framework: told with a race, and options of a contender."""

import pytest

from photofinish.environments.contenders import checked
from photofinish.environments.switches import told

ORDERS = ("ATEN_CPU_CAPABILITY", "LD_PRELOAD", "NCCL_P2P_DISABLE", "OV_CPU_CACHE", "TF_ONEDNN_USE_SYSTEM_ALLOCATOR",
          "TF_SET_ONEDNN_FPMATH_MODE", "TORCHINDUCTOR_LAYOUT_OPTIMIZATION", "XLA_FLAGS")
OTHERS = ("HOME", "LD_LIBRARY_PATH", "TF_CLI_CONFIG_FILE", "TF_CPP_MIN_LOG_LEVEL", "TF_TOKEN_example_com",
          "TF_VAR_password")


def test_orders_are_told_and_another_tools_secrets_are_not() -> None:
    assert tuple(told(dict.fromkeys((*OTHERS, *ORDERS), "1"))) == ORDERS
    assert "XLA_FLAGS" not in told(dict.fromkeys(ORDERS, "1"), ["XLA_FLAGS"])


@pytest.mark.parametrize("name", ORDERS)
def test_each_is_an_option_of_any_contender(name: str) -> None:
    spelled = f"tensorflow:graph[{name}=/usr/lib/a.so.4]"
    assert checked(spelled).name == spelled
