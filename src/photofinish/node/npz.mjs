/**
 * NumPy's .npz: a zip archive, not compressed, of one .npy file per array.
 *
 * An array here is { dtype, shape, data }: data a typed array in C order; "bool" lies in bytes. Sources: the zip
 * application note of PKWARE, and numpy.lib.format.
 */

import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";

const KINDS = {
  float32: ["<f4", Float32Array], float64: ["<f8", Float64Array], int32: ["<i4", Int32Array],
  int64: ["<i8", BigInt64Array], uint8: ["|u1", Uint8Array], bool: ["|b1", Uint8Array],
};
const NAMES = Object.fromEntries(Object.entries(KINDS).map(([name, [descr]]) => [descr, name]));
const END = 0x06054b50, END_64 = 0x06064b50, CENTRAL = 0x02014b50, LOCAL = 0x04034b50;
const LARGEST = 0xffffffff; // what a field of 32 bits holds, and says where another of 64 bits counts
const PIECE = 1 << 30; // bytes read or written at once: Node.js takes less than 2 GiB

/** An array of that type from numbers. */
export function array(dtype, shape, values) {
  return { dtype, shape, data: KINDS[dtype][1].from(values) };
}

/** Every array of a file, by name. */
export function readNpz(path) {
  const file = openSync(path, "r");
  try {
    return Object.fromEntries(entries(file).map(({ name, at, size }) => [name.replace(/\.npy$/, ""),
      parsed(read(file, dataOf(file, at), size))]));
  } finally {
    closeSync(file);
  }
}

/** Writes arrays by name as one file, which NumPy reads. */
export function writeNpz(path, arrays) {
  const file = openSync(path, "w");
  try {
    let at = 0;
    const listed = [];
    for (const [name, values] of Object.entries(arrays)) {
      const title = Buffer.from(`${name}.npy`);
      const parts = [header(values), bytesOf(values.data)];
      const entry = { title, at, size: parts[0].length + parts[1].length, crc: parts.reduce(crc32, 0) };
      for (const part of [local(entry), title, ...parts]) at += write(file, part);
      listed.push(entry);
    }
    if (at > LARGEST) throw new Error(`${path} would take more than the 4 GiB of a plain zip archive`);
    const directory = Buffer.concat(listed.flatMap((entry) => [central(entry), entry.title]));
    write(file, Buffer.concat([directory, end(listed.length, directory.length, at)]));
  } finally {
    closeSync(file);
  }
}

/** Name, place of the local header and size of everything in the archive. */
function entries(file) {
  const total = fstatSync(file).size;
  const tail = read(file, Math.max(0, total - 66000), Math.min(total, 66000));
  const place = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (place < 0 || tail.readUInt32LE(place) !== END) throw new Error("this is no zip archive");
  let [count, size, at] = [tail.readUInt16LE(place + 10), tail.readUInt32LE(place + 12), tail.readUInt32LE(place + 16)];
  if (count === 0xffff || at === LARGEST || size === LARGEST) {
    const more = read(file, Number(tail.readBigUInt64LE(place - 12)), 56);
    if (more.readUInt32LE(0) !== END_64) throw new Error("the zip archive has no end that can be read");
    [count, size, at] = [24, 40, 48].map((offset) => Number(more.readBigUInt64LE(offset)));
  }
  const directory = read(file, at, size);
  const found = [];
  for (let i = 0, offset = 0; i < count; i += 1) {
    if (directory.readUInt32LE(offset) !== CENTRAL) throw new Error("the directory of the zip archive is broken");
    if (directory.readUInt16LE(offset + 10) !== 0) throw new Error("compressed arrays are not read: use numpy.savez");
    const [name, extra, comment] = [28, 30, 32].map((field) => directory.readUInt16LE(offset + field));
    const from = offset + 46 + name;
    found.push({ name: directory.toString("utf8", offset + 46, from),
      ...places([24, 20, 42].map((field) => directory.readUInt32LE(offset + field)),
        directory.subarray(from, from + extra)) });
    offset = from + extra + comment;
  }
  return found;
}

/** Size and place. What is full in 32 bits (size, packed size, place) stands in 64 in the extra field of number 1. */
function places(fields, extra) {
  let field = 0;
  while (field < extra.length && extra.readUInt16LE(field) !== 1) field += 4 + extra.readUInt16LE(field + 2);
  field += 4;
  const [size, , at] = fields.map((value) => value === LARGEST
    ? Number(extra.readBigUInt64LE((field += 8) - 8)) : value);
  return { size, at };
}

/** Where the contents begin behind a local header. */
function dataOf(file, at) {
  const head = read(file, at, 30);
  if (head.readUInt32LE(0) !== LOCAL) throw new Error("an entry of the zip archive is broken");
  return at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
}

function parsed(file) {
  if (file.toString("latin1", 0, 6) !== "\x93NUMPY") throw new Error("an entry is no array");
  const wide = file[6] > 1;
  const from = wide ? 12 : 10;
  const until = from + (wide ? file.readUInt32LE(8) : file.readUInt16LE(8));
  const told = file.toString("latin1", from, until);
  const descr = /'descr': '([^']+)'/.exec(told)?.[1];
  const shape = /'shape': \(([^)]*)\)/.exec(told)?.[1].split(",").filter((each) => each.trim()).map(Number);
  if (!(descr in NAMES) || shape === undefined) throw new Error(`arrays of type ${descr} are not read`);
  const dtype = NAMES[descr];
  const body = file.subarray(until);
  const bytes = new Uint8Array(body.length); // aligned, which a part of the file need not be
  bytes.set(body);
  const data = new KINDS[dtype][1](bytes.buffer);
  return { dtype, shape, data: /'fortran_order': True/.test(told) ? turned(data, shape) : data };
}

/** Values in C order that lie in Fortran's. */
function turned(data, shape) {
  const result = new data.constructor(data.length);
  const strides = shape.map((_, axis) => shape.slice(0, axis).reduce((a, b) => a * b, 1));
  const index = shape.map(() => 0);
  for (let to = 0, from = 0; to < data.length; to += 1) {
    result[to] = data[from];
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      from += strides[axis];
      if ((index[axis] += 1) < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

function header({ dtype, shape }) {
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const told = `{'descr': '${KINDS[dtype][0]}', 'fortran_order': False, 'shape': (${axes}), }`;
  const text = told.padEnd(Math.ceil((told.length + 11) / 64) * 64 - 11) + "\n";
  const head = Buffer.from("\x93NUMPY\x01\x00\x00\x00", "latin1");
  head.writeUInt16LE(text.length, 8);
  return Buffer.concat([head, Buffer.from(text, "latin1")]);
}

function local({ title, size, crc }) {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(LOCAL, 0);
  return common(head, 4, title, size, crc);
}

function central({ title, size, crc, at }) {
  const head = Buffer.alloc(46);
  head.writeUInt32LE(CENTRAL, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt32LE(at, 42);
  return common(head, 6, title, size, crc);
}

/** What a local and a central header both say: version, no flags, not compressed, 1980-01-01, check sum, sizes. */
function common(head, from, title, size, crc) {
  head.writeUInt16LE(20, from);
  head.writeUInt16LE(0x21, from + 8);
  head.writeUInt32LE(crc, from + 10);
  head.writeUInt32LE(size, from + 14);
  head.writeUInt32LE(size, from + 18);
  head.writeUInt16LE(title.length, from + 22);
  return head;
}

function end(count, size, at) {
  const tail = Buffer.alloc(22);
  tail.writeUInt32LE(END, 0);
  tail.writeUInt16LE(count, 8);
  tail.writeUInt16LE(count, 10);
  tail.writeUInt32LE(size, 12);
  tail.writeUInt32LE(at, 16);
  return tail;
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit += 1) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

/** The check sum of a zip archive, carried on from one part to the next. */
function crc32(sum, bytes) {
  let value = ~sum;
  for (let i = 0; i < bytes.length; i += 1) value = TABLE[(value ^ bytes[i]) & 0xff] ^ (value >>> 8);
  return ~value >>> 0;
}

/** The bytes of a typed array. */
export function bytesOf(data) {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function read(file, at, size) {
  const bytes = Buffer.allocUnsafe(size);
  for (let done = 0; done < size;) {
    const got = readSync(file, bytes, done, Math.min(PIECE, size - done), at + done);
    if (!got) throw new Error("the file ends too early");
    done += got;
  }
  return bytes;
}

function write(file, bytes) {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, Math.min(PIECE, bytes.length - done));
  return bytes.length;
}
