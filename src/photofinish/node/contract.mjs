/**
 * The contract between a framework in JavaScript and its worker: frameworks/__init__.py in this language.
 *
 * A framework's file exports a class Contestant with these methods, any of which may return a promise:
 *
 *   constructor(setup)              threads, numerics and device for the process
 *   facts()                         versions and settings
 *   build(graph, batch, optimizer)  the native model; graph as its JSON says it
 *   put(arrays), get()              canonical arrays in and out: "parameter/<name>", "state/<name>", slots, "step"
 *   feed(arrays)                    a batch as trainStep and infer want it
 *   trainStep(batch), infer(batch)  a handle, unread, not waited for
 *   wait(handle)                    returns when the work behind it is done
 *   read(handle)                    "loss", or "output/<tensor>"
 *   gradients(batch)                "loss", "output/<tensor>", "gradient/<parameter>"
 *   probe(name, arrays)             "matmul", "conv" or "multiply" of the arrays a and b: an array
 *   evidence()                      what can be seen of the mode being real
 *   free(batch), dispose()           gives back what was fed, or all it holds; they may be left out
 */

/** The framework cannot do that; the message is the reason. */
export class Unsupported extends Error {
  name = "Unsupported";
}

/** A loss or an output held NaN or infinity. */
export class NotFinite extends Error {
  name = "NotFinite";
}

/** The options of a setup, each one of its allowed values or the first of them. Throws Unsupported for others. */
export function chosen(setup, allowed) {
  for (const [name, value] of Object.entries(setup.options)) {
    if (!allowed[name]?.includes(value)) throw new Unsupported(`there is no option ${name}=${value}`);
  }
  return Object.fromEntries(Object.entries(allowed).map(([name, values]) => [name, setup.options[name] ?? values[0]]));
}
