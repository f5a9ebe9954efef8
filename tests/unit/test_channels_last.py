"""The way between canonical arrays and a framework's own."""

import numpy as np
import pytest

from photofinish.frameworks._common.channels_last import Layout

ORDER = np.array([2, 0, 3, 1])


@pytest.mark.parametrize("shape, layout", [
    ((3, 4), Layout((3, 4), (1, 0), axis=1, order=ORDER)),  # of a linear layer behind a flattened image
    ((4, 3), Layout((4, 3), (1, 0), order=ORDER)),  # of gates
    ((4,), Layout((4,), order=ORDER)),
    ((6, 1, 5, 5), Layout((6, 1, 5, 5), (2, 3, 0, 1), (6, -1, 5, 5))),  # of a depthwise convolution
])
def test_a_layout_leads_there_and_back(shape: tuple[int, ...], layout: Layout) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    native = layout.native(array)
    assert not np.array_equal(native, array)
    assert np.array_equal(layout.canonical(native), array)
    assert np.array_equal(layout.canonical(np.ascontiguousarray(native)), array)


def test_native_entry_i_is_canonical_entry_order_i() -> None:
    weight = np.arange(12).reshape(3, 4)
    assert np.array_equal(Layout((3, 4), (1, 0), axis=1, order=ORDER).native(weight), weight[:, ORDER].T)
