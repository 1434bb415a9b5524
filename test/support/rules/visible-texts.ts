import { inspect, types } from 'node:util';

/**
 * Every text that `inspect` with unlimited depth, or `JSON.stringify`, would show of a value, with the path to it. Objects are
 * visited once, so that whole containers can be searched.
 */
export function* visibleTexts(root: unknown, name: string): Generator<{ path: string; text: string }> {
  const seen = new WeakSet();
  const open: { value: unknown; path: string }[] = [{ value: root, path: name }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path } = next;
    if (typeof value === 'string') yield { path, text: value };
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) continue;
    seen.add(value);
    if (ArrayBuffer.isView(value)) yield { path, text: Buffer.from(value.buffer).toString('latin1') };
    else open.push(...membersOf(value, path));
  }
}

function membersOf(value: object, path: string): { value: unknown; path: string }[] {
  const inspects: unknown = Reflect.get(value, inspect.custom);
  const serializes: unknown = Reflect.get(value, 'toJSON');
  if (typeof inspects === 'function' && typeof serializes === 'function') {
    // Its own forms are all that is shown of such an object.
    return [
      { value: inspect(value), path: `${path}[inspect]` },
      { value: JSON.stringify(value), path: `${path}[JSON]` },
    ];
  }
  const members: { value: unknown; path: string }[] = [];
  for (const key of Reflect.ownKeys(value)) {
    const property = Reflect.getOwnPropertyDescriptor(value, key);
    // Accessors are shown as such by inspect; those that JSON.stringify would ask are asked.
    if (property?.enumerable !== true) continue;
    members.push({ value: property.value, path: `${path}.${String(key)}` });
  }
  // By the built-in iterators: a subclass may have its own.
  if (types.isMap(value)) {
    for (const [key, item] of Map.prototype.entries.call(value)) {
      members.push(
        { value: key, path: `${path} key` },
        { value: item, path: `${path}[${typeof key === 'string' ? key : '…'}]` },
      );
    }
  }
  if (types.isSet(value)) {
    for (const item of Set.prototype.values.call(value)) members.push({ value: item, path: `${path} item` });
  }
  if (value instanceof Error) members.push({ value: `${value.message} ${value.stack ?? ''}`, path: `${path}.message` });
  return members;
}
