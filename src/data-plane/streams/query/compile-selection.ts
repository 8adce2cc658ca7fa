import type { Condition, SelectItem } from '../model/stream-query.ts';
import { type Aggregate, createAggregate } from './aggregate.ts';
import { compileWhere, compileWhereOf } from './compile-where.ts';
import { jsonText } from './json-text.ts';
import { outputTemplate } from './output-template.ts';
import { compilePlace, type Place, type QueryMessage } from './query-message.ts';
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
  /** `null` if the value is a time. */
  readonly place: Place | null;
}

interface Counted extends Copied {
  readonly aggregate: Aggregate;
  readonly written: boolean;
}

/** Compiles a selection of at least one item. Each message results in a new JSON object. */
export function compileSelection(select: readonly SelectItem[], condition: Condition | undefined): Judge {
  const bucket = bucketOf(select);
  const sources: Source[] = [];
  const copied: Copied[] = [];
  const counted: Counted[] = [];
  const places: (Place | null)[] = [];
  for (const [item, { source = '', target = '', function: name }] of select.entries()) {
    const place = source.startsWith('[') ? compilePlace(source) : null;
    const read = place?.read ?? (name === 'time_bucket' ? () => bucket?.start : timeOf(source, bucket));
    if (read !== null) sources.push({ item, read, missing: filtered(`${source} is missing`) });
    places.push(place);
    const written = target !== '';
    if (name !== undefined && name !== 'time_bucket') {
      counted.push({ item, name: source, place, aggregate: createAggregate(name), written });
    } else if (written) copied.push({ item, name: source, place });
  }
  const { before, after } = whereOf(condition, { select, places, counted });
  const { texts: around, items } = outputTemplate(
    select.flatMap(({ target = '' }, item) => (target === '' ? [] : [{ item, path: target }])),
  );
  const last = around[items.length] ?? '';

  return (message, now, maxOutput) => {
    if (bucket?.enter(now)) for (const { aggregate } of counted) aggregate.clear();
    const values = new Array<unknown>(select.length);
    for (const { item, read, missing } of sources) {
      const value = read(message.root, now);
      if (value === undefined) return missing;
      values[item] = value;
    }
    const unmet = before(message, values);
    if (unmet !== null) return unmet;

    const texts = new Array<string>(select.length);
    let length = 0;
    let name = '';
    try {
      for (const { item, name: counting, place, aggregate } of counted) {
        name = counting;
        const problem = aggregate.weigh(values[item], place, message);
        if (problem !== null) return failed(`${name} ${problem}`);
      }
      for (const { item, name: copying, place } of copied) {
        name = copying;
        const written = textOf(values[item], place, message);
        length += written.length;
        texts[item] = written;
        if (length > maxOutput) return tooLong(maxOutput);
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return failed(`${name} ${error.message}`);
    }

    for (const { aggregate } of counted) aggregate.take();
    const unmetAfter = after(message);
    if (unmetAfter !== null) return unmetAfter;

    for (const { item, aggregate, written } of counted) if (written) texts[item] = aggregate.text;
    let output = '';
    for (let at = 0; at < items.length; at += 1) output += `${around[at]}${texts[items[at] ?? 0]}`;
    return { outcome: 'PASS', text: output + last };
  };
}

function bucketOf(select: readonly SelectItem[]): TimeBucket | null {
  const item = select.find(({ function: name }) => name === 'time_bucket');
  return item === undefined ? null : new TimeBucket(item.intervalsize ?? 1, item.intervaloffset ?? 0);
}

function textOf(value: unknown, place: Place | null, message: QueryMessage): string {
  if (place === null) return `${value}`;
  return typeof value === 'number' ? place.numberText(message) : jsonText(value, message, place.read);
}

/** `null` if the item reads no value. Times are Unix seconds, whole ones for `timestamp`. */
function timeOf(source: string, bucket: TimeBucket | null): Source['read'] | null {
  switch (source) {
    case 'timestamp':
      return (_root, now) => Math.floor(now / 1_000);
    case 'windowstart':
      return () => bucket?.start;
    case 'windowend':
      return () => bucket?.end;
    default:
      return null;
  }
}

interface Where {
  readonly before: (message: QueryMessage, values: readonly unknown[]) => Processed | null;
  readonly after: (message: QueryMessage) => Processed | null;
}

interface Items {
  readonly select: readonly SelectItem[];
  readonly places: readonly (Place | null)[];
  readonly counted: readonly Counted[];
}

const met = (): null => null;

function whereOf(condition: Condition | undefined, { select, places, counted }: Items): Where {
  if (condition === undefined) return { before: met, after: met };
  const index = select.findIndex(({ alias }) => alias === condition.left);
  if (index === -1) return { before: compileWhere(condition), after: met };
  const judge = compileWhereOf(condition);
  const aggregate = counted.find(({ item }) => item === index)?.aggregate;
  if (aggregate !== undefined) return { before: met, after: (message) => judge(aggregate.value, null, message) };
  const place = places[index] ?? null;
  return { before: (message, values) => judge(values[index], place, message), after: met };
}
