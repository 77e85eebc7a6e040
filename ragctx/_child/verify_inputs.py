"""Makes a workload's inputs and expected outputs, and notices what they cannot tell, for `verify_judge.py`.

It needs the standard library, numpy and jax.
"""

import jax
import numpy as np
import verify_workload as workloads
from verify_numerics import fetch, wide


class Reference:
    """A workload at CHECK (or CONFIG) sizes: inputs and expected outputs by seed, and notes on what they cannot tell.

    Attributes:
        notes: One line each.
        tolerances: (atol, rtol) of each output, tightened where the stated one would accept zeros.
    """

    def __init__(self, module, overrides, tolerances, wrap):
        self.module, self.overrides, self.tolerances = module, overrides, list(tolerances)
        self.notes, self._permute, self._replace = [], False, False
        leaves, tree = workloads.abstract_inputs_at(module, overrides)
        self._function = jax.jit(wrap(workloads.flat(workloads.entry_point(module), leaves, tree)))

    def prepare(self, seeds):
        """Look at the inputs and outputs of the first seeds and repair what cannot tell right from wrong."""
        first = self.inputs(seeds[0])
        if len(seeds) > 1 and same(first, self.inputs(seeds[1])):
            self._permute = True
            self.notes.append("create_inputs gives equal inputs for two seeds: floats are permuted for the others")
        outputs = self.outputs(first)
        if any(constant(out) for out in outputs) and any(constant(x) and is_float(x) for x in first):
            self._replace = True
            replaced = self.outputs(self.inputs(seeds[0]))
            if any(constant(out) for out in replaced):
                self._replace = False
            else:
                self.notes.append("this workload cannot tell: constant inputs make its output constant; random instead")
                outputs = replaced
        for number, out in enumerate(outputs):
            self._judge_output(number, out)

    def _judge_output(self, number, out):
        values = wide(out)
        if values.size == 0 or values.dtype.kind in "iub":
            if constant(out) and values.size > 1:
                self.notes.append(f"this workload cannot tell: output {number} is the same value everywhere")
            return
        finite = np.abs(values[np.isfinite(values)])
        largest = float(finite.max()) if finite.size else 0.0
        if values.size > 1 and constant(out):
            self.notes.append(f"this workload cannot tell: output {number} is the same value everywhere")
        atol, rtol = self.tolerances[number]
        if largest and np.mean(finite <= atol) > 0.99:
            tight = max(rtol, 1e-6) * largest
            self.tolerances[number] = (min(atol, tight), rtol)
            self.notes.append(
                f"this workload cannot tell: zeros would pass for output {number} at atol {atol:g}; "
                f"{self.tolerances[number][0]:.3g} is used"
            )

    def inputs(self, seed):
        """Return the input arrays for a seed."""
        with workloads.sizes(self.module, self.overrides):
            arrays = [jax.numpy.asarray(x) for x in workloads.make_inputs(self.module, seed)]
        if not (self._permute or self._replace):
            return arrays
        rng = np.random.default_rng([seed, 7])
        return [self._changed(x, rng, seed) for x in arrays]

    def _changed(self, array, rng, seed):
        if not is_float(array):
            return array
        if self._replace and constant(array):
            return jax.numpy.asarray(rng.standard_normal(array.shape)).astype(array.dtype)
        if self._permute and seed:
            order = rng.permutation(array.size)
            return array.reshape(-1)[order].reshape(array.shape)
        return array

    def outputs(self, arrays):
        """Return the expected outputs as NumPy arrays."""
        with workloads.sizes(self.module, self.overrides):
            return [fetch(x) for x in jax.tree.leaves(self._function(*arrays))]


def is_float(array):
    """Return whether an array holds floating-point numbers, the short ones included."""
    return jax.numpy.issubdtype(array.dtype, jax.numpy.floating)


def constant(array):
    """Return whether all values of an array are the same."""
    values = np.asarray(array).reshape(-1)
    return values.size > 0 and bool(np.all(values == values[0]))


def same(first, second):
    """Return whether two lists of arrays are equal byte for byte."""
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(first, second, strict=True))
