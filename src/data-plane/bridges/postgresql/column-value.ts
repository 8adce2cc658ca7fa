import { isUtf8 } from 'node:buffer';
import { isDateTime } from '../../../platform/date-times.ts';
import { parseExactJson } from '../../../platform/text/exact-json.ts';
import { decimalOf, ExactNumber, numberOf } from '../../../platform/text/exact-number.ts';
import { isReadableMessage, TOO_MANY_VALUES } from '../../../platform/text/json-bounds.ts';
import { isDeeper, MAX_WRITTEN_LEVELS, TOO_DEEP_TO_WRITE } from '../../../platform/text/json-depth.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { messageIdOf } from '../sink/message-id.ts';
import { BadBatch, SinkFailure } from '../sink/sink.ts';
import { type ColumnSource, parseSource, valueAt } from './column-source.ts';
import type { ColumnConfig, ColumnReading } from './postgresql-config.ts';
import { type ColumnForm, isList, type TableColumn } from './table-columns.ts';

export type SqlValue = string | Buffer | null;

/** Errors: BadBatch if the message has no such value. */
export type ReadColumn = (message: MessageParts) => SqlValue;

/** A message; values that several columns need are created once. */
export class MessageParts {
  readonly message: BridgeMessage;
  #levels: readonly string[] | null = null;
  #json: { readonly root: unknown } | null = null;

  constructor(message: BridgeMessage) {
    this.message = message;
  }

  get levels(): readonly string[] {
    this.#levels ??= this.message.topic.split('/');
    return this.#levels;
  }

  get text(): string {
    const { payload } = this.message;
    if (!isUtf8(payload)) throw new BadBatch('The payload is not UTF-8');
    return payload.toString();
  }

  get json(): unknown {
    if (this.#json === null) {
      if (!isReadableMessage(this.message.payload)) throw new BadBatch(`The payload ${TOO_MANY_VALUES}`);
      this.#json = { root: parsed(this.text) };
    }
    return this.#json.root;
  }
}

/** Errors: SinkFailure if the column has another type; TypeError for an invalid source. */
export function compileColumn({ source, type }: ColumnConfig, column: TableColumn): ReadColumn {
  const parts = parseSource(source);
  if (parts === null) throw new TypeError(`"${source}" is no source`);
  const read = compileSource(parts, column.form);
  if (type === undefined) return read;
  const needed = type === 'base64' ? 'bytes' : 'time';
  if (column.form !== needed) {
    throw new SinkFailure(
      'FAILED',
      `The column "${column.name}" is of type ${column.type}, which "${type}" is not for`,
    );
  }
  return (message) => {
    const value = read(message);
    return value === null ? null : converted(value, type, column.name);
  };
}

export const readMessageId: ReadColumn = ({ message }) => messageIdOf(message);

function compileSource(source: ColumnSource, form: ColumnForm): ReadColumn {
  switch (source.kind) {
    case 'topic':
      return asText(form, ({ message }) => message.topic);
    case 'level':
      return asText(form, ({ levels }) => levels.at(source.index) ?? null);
    case 'payload':
      return form === 'bytes' ? ({ message }) => message.payload : (parts) => parts.text;
    case 'json':
      return ({ json }) => jsonValue(valueAt(json, source.path), form);
    case 'qos':
      return ({ message }) => String(message.qos);
    case 'retain':
      return ({ message }) => (form === 'number' ? String(Number(message.retain)) : String(message.retain));
    case 'receivedAt':
      return asText(form, ({ message }) =>
        form === 'number' ? String(message.receivedAt) : new Date(message.receivedAt).toISOString(),
      );
  }
}

/** In a JSON column a text is a JSON string, in a bytea column its UTF-8. */
function asText(form: ColumnForm, read: (parts: MessageParts) => string | null): ReadColumn {
  if (form !== 'json' && form !== 'bytes') return read;
  return (parts) => {
    const text = read(parts);
    if (text === null) return null;
    return form === 'json' ? JSON.stringify(text) : Buffer.from(text);
  };
}

function jsonValue(value: unknown, form: ColumnForm): SqlValue {
  if (value === undefined || value === null) return null;
  if (isDeeper(value, MAX_WRITTEN_LEVELS)) throw new BadBatch(`A value ${TOO_DEEP_TO_WRITE}`);
  if (form === 'json') return JSON.stringify(value);
  const isText = form === 'text' || form === 'textList' || form === 'bytes';
  if (isList(form) && Array.isArray(value)) return listText(value, isText);
  const text = scalarText(value, isText);
  return form === 'bytes' ? Buffer.from(text) : text;
}

function listText(values: readonly unknown[], isText: boolean): string {
  const items = values.map((value) => {
    if (value === null) return 'NULL';
    if (Array.isArray(value)) return listText(value, isText);
    const text = scalarText(value, isText);
    return typeof value === 'number' || value instanceof ExactNumber ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${items.join(',')}}`;
}

/** PostgreSQL refuses `1.0` and `1e3` as integers. */
function scalarText(value: unknown, isText: boolean): string {
  if (typeof value === 'string') return value;
  return value instanceof ExactNumber && !isText ? integerText(String(value)) : JSON.stringify(value);
}

/** A whole number without its fraction and exponent. Other numbers are unchanged. */
function integerText(text: string): string {
  const number = decimalOf(text);
  return number.point <= MAX_INTEGER_DIGITS && number.digits.length <= number.point ? String(numberOf(number)) : text;
}

/** Those of bigint. */
const MAX_INTEGER_DIGITS = 19;

function converted(value: string | Buffer, type: ColumnReading, column: string): SqlValue {
  const text = value.toString();
  if (type === 'base64') {
    if (!BASE64.test(text)) throw new BadBatch(`The value for "${column}" is not base64`);
    return Buffer.from(text, 'base64');
  }
  const time = timeText(text.trim(), type === 'epochSeconds' ? 6 : 3);
  if (time !== null) return time;
  throw new BadBatch(
    `The value for "${column}" is not a time in ${type === 'epochSeconds' ? 'seconds' : 'milliseconds'}`,
  );
}

/**
 * ISO 8601 with the six places that PostgreSQL stores. `places`: digits from the unit of the number to microseconds.
 * `null` if it is no number, or not in the years 1 to 9999: PostgreSQL does not read the signs of ISO 8601 beyond them.
 */
function timeText(number: string, places: number): string | null {
  // The digits of larger numbers would need as much memory as their exponent.
  if (!(Math.abs(Number(number)) < 1e15) || !DECIMAL.test(number)) return null;
  const { isNegative, digits, point } = decimalOf(number);
  const shift = point + places;
  const rounded = shift >= 0 && (digits[shift] ?? '0') >= '5' ? 1n : 0n;
  const size = BigInt(digits.slice(0, Math.max(0, shift)).padEnd(Math.max(0, shift), '0')) + rounded;
  const micros = isNegative ? -size : size;
  const rest = ((micros % 1_000n) + 1_000n) % 1_000n;
  const ms = Number((micros - rest) / 1_000n);
  return isDateTime(ms) ? new Date(ms).toISOString().replace('Z', `${String(rest).padStart(3, '0')}Z`) : null;
}

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

function parsed(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    throw new BadBatch(`The payload ${error instanceof RangeError ? error.message : 'is not JSON'}`);
  }
}
