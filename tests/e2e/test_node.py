"""The house's workers in JavaScript keep the protocol: of those frameworks whose environment has been made."""

import pytest

from photofinish import conformance, environments
from photofinish.values import Contender

NODE = [Contender(info.name, mode) for info in environments.frameworks().values() if info.language == "node"
        for mode in info.modes]


@pytest.mark.parametrize("contender", NODE, ids=lambda each: each.name)
def test_a_worker_in_javascript_keeps_the_protocol(contender: Contender, capsys: pytest.CaptureFixture[str]) -> None:
    home = environments.resolve(contender)
    if isinstance(home, environments.Missing):
        pytest.skip(f"{home.reason} ({home.cure})")
    tasks = environments.frameworks()[contender.framework].tasks_of(contender.mode)
    code = conformance.main(["--contender", contender.name, "--tasks", ",".join(tasks)])
    assert (code, capsys.readouterr().out.count("BROKEN")) == (0, 0)
