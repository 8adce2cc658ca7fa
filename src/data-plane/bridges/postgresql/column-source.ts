export type ColumnSource =
  | { readonly kind: 'topic' | 'payload' | 'qos' | 'retain' | 'receivedAt' }
  /** From 0; negative indexes count from the end, -1 is the last level. */
  | { readonly kind: 'level'; readonly index: number }
  | { readonly kind: 'json'; readonly path: readonly (string | number)[] };

const PLAIN = ['topic', 'payload', 'qos', 'retain', 'receivedAt'] as const;
const LEVEL = /^topic\[(-?\d{1,5})\]$/;
/** `.key`, `[3]` or `["any key"]`, which is a JSON string. */
const STEP = /\.([^.[\]"\s]+)|\[(\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y;

export function parseSource(text: string): ColumnSource | null {
  const plain = PLAIN.find((name) => name === text);
  if (plain !== undefined) return { kind: plain };
  const level = LEVEL.exec(text)?.[1];
  if (level !== undefined) return { kind: 'level', index: Number(level) };
  if (!text.startsWith('payload')) return null;
  const path = parsePath(text.slice('payload'.length));
  return path === null ? null : { kind: 'json', path };
}

function parsePath(text: string): (string | number)[] | null {
  const path: (string | number)[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const [, key, index, quoted] = STEP.exec(text) ?? [];
    if (key !== undefined) path.push(key);
    else if (index !== undefined) path.push(Number(index));
    else {
      const unquoted = quoted === undefined ? null : parseString(quoted);
      if (unquoted === null) return null;
      path.push(unquoted);
    }
  }
  return path;
}

function parseString(text: string): string | null {
  try {
    return JSON.parse(text) as string;
  } catch {
    return null;
  }
}

export function valueAt(root: unknown, path: readonly (string | number)[]): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value)) {
      if (typeof step !== 'number') return undefined;
      value = value[step];
    } else if (Object.hasOwn(value, step)) value = (value as Readonly<Record<string | number, unknown>>)[step];
    else return undefined;
  }
  return value;
}
