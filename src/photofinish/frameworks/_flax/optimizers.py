"""Optimizers as optax has them, and what it lacks."""

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call
from photofinish.optimizers import SGD, Adam, Optimizer

SLOTS = {"velocity": "trace", "moment1": "mu", "moment2": "nu"}  # what optax calls them


def written(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("optax.sgd", optimizer.learning_rate, momentum=optimizer.momentum or None)
    if isinstance(optimizer, Adam):
        return call("adam", optimizer.learning_rate, b1=optimizer.beta1, b2=optimizer.beta2, eps=optimizer.epsilon)
    raise Unsupported("no optax optimizer for {}".format(type(optimizer).__name__))


HELPERS = {
    "adam": '''\
def adam(learning_rate, b1, b2, eps):
    """optax.adam, but for 1 - b ** step, which float32 loses digits of: by 1e-5 where b is 0.999."""
    def init(params):
        return optax.ScaleByAdamState(jnp.zeros([], jnp.int32), jax.tree.map(jnp.zeros_like, params),
                                      jax.tree.map(jnp.zeros_like, params))

    def update(gradients, state, params=None):
        count = state.count + 1
        mu = jax.tree.map(lambda g, m: (1 - b1) * g + b1 * m, gradients, state.mu)
        nu = jax.tree.map(lambda g, v: (1 - b2) * g * g + b2 * v, gradients, state.nu)
        first, second = (-jnp.expm1(count * math.log(b)) for b in (b1, b2))
        updates = jax.tree.map(lambda m, v: -learning_rate * (m / first) / (jnp.sqrt(v / second) + eps), mu, nu)
        return updates, optax.ScaleByAdamState(count, mu, nu)

    return optax.GradientTransformation(init, update)
''',
}
