import type { Condition, SelectItem } from '../model/stream-query.ts';
import { type Aggregate, createAggregate } from './aggregate.ts';
import { compileWhere, compileWhereOf } from './compile-where.ts';
import { compilePath } from './json-path.ts';
import { jsonText } from './json-text.ts';
import { outputTemplate } from './output-template.ts';
import { failed, filtered, type Judge, type Processed, tooLong } from './stream-processor.ts';
import { TimeBucket } from './time-bucket.ts';

/** Reads an item's value from a message or the clock. `undefined` if it is missing. */
interface Source {
  readonly item: number;
  readonly read: (root: unknown, now: number) => unknown;
  readonly missing: Processed;
}

interface Copied {
  readonly item: number;
  readonly name: string;
}

interface Counted {
  readonly item: number;
  readonly name: string;
  readonly aggregate: Aggregate;
  readonly written: boolean;
}

/** Compiles a selection of at least one item. Each message results in a new JSON object. */
export function compileSelection(select: readonly SelectItem[], condition: Condition | undefined): Judge {
  const bucket = bucketOf(select);
  const sources: Source[] = [];
  const copied: Copied[] = [];
  const counted: Counted[] = [];
  for (const [item, { source = '', target = '', function: name }] of select.entries()) {
    const read = name === 'time_bucket' ? () => bucket?.start : readerOf(source, bucket);
    if (read !== null) sources.push({ item, read, missing: filtered(`${source} is missing`) });
    const written = target !== '';
    if (name !== undefined && name !== 'time_bucket') {
      counted.push({ item, name: source, aggregate: createAggregate(name), written });
    } else if (written) copied.push({ item, name: source });
  }
  const { before, after } = whereOf(condition, select, counted);
  const { texts: around, items } = outputTemplate(
    select.flatMap(({ target = '' }, item) => (target === '' ? [] : [{ item, path: target }])),
  );
  const last = around[items.length] ?? '';

  return (root, text, now, maxOutput) => {
    if (bucket?.enter(now)) for (const { aggregate } of counted) aggregate.clear();
    const values = new Array<unknown>(select.length);
    for (const { item, read, missing } of sources) {
      const value = read(root, now);
      if (value === undefined) return missing;
      values[item] = value;
    }
    const unmet = before(root, values);
    if (unmet !== null) return unmet;

    for (const { item, name, aggregate } of counted) {
      const problem = aggregate.weigh(values[item]);
      if (problem !== null) return failed(`${name} ${problem}`);
    }
    const texts = new Array<string>(select.length);
    let length = 0;
    for (const { item, name } of copied) {
      try {
        const written = jsonText(values[item], text);
        length += written.length;
        texts[item] = written;
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return failed(`${name} ${error.message}`);
      }
      if (length > maxOutput) return tooLong(maxOutput);
    }

    for (const { aggregate } of counted) aggregate.take();
    const unmetAfter = after();
    if (unmetAfter !== null) return unmetAfter;

    for (const { item, aggregate, written } of counted) if (written) texts[item] = `${aggregate.value}`;
    let output = '';
    for (let at = 0; at < items.length; at += 1) output += `${around[at]}${texts[items[at] ?? 0]}`;
    return { outcome: 'PASS', text: output + last };
  };
}

function bucketOf(select: readonly SelectItem[]): TimeBucket | null {
  const item = select.find(({ function: name }) => name === 'time_bucket');
  return item === undefined ? null : new TimeBucket(item.intervalsize ?? 1, item.intervaloffset ?? 0);
}

/** `null` if the item reads no value. Times are Unix seconds, whole ones for `timestamp`. */
function readerOf(source: string, bucket: TimeBucket | null): Source['read'] | null {
  switch (source) {
    case '':
    case '*':
      return null;
    case 'timestamp':
      return (_root, now) => Math.floor(now / 1_000);
    case 'windowstart':
      return () => bucket?.start;
    case 'windowend':
      return () => bucket?.end;
    default:
      return compilePath(source);
  }
}

interface Where {
  readonly before: (root: unknown, values: readonly unknown[]) => Processed | null;
  readonly after: () => Processed | null;
}

const met = (): null => null;

function whereOf(condition: Condition | undefined, select: readonly SelectItem[], counted: readonly Counted[]): Where {
  if (condition === undefined) return { before: met, after: met };
  const index = select.findIndex(({ alias }) => alias === condition.left);
  if (index === -1) return { before: compileWhere(condition), after: met };
  const judge = compileWhereOf(condition);
  const aggregate = counted.find(({ item }) => item === index)?.aggregate;
  if (aggregate === undefined) return { before: (_root, values) => judge(values[index]), after: met };
  return { before: met, after: () => judge(aggregate.value) };
}
