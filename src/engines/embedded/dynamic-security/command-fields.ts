import { type Fields, fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';

/** The longest string of MQTT, in bytes; Mosquitto's limit of names. */
const MAX_BYTES = 65_535;

/**
 * Reading the fields of a command as Mosquitto's dynamic security does: what is required and missing, or no text, is refused as
 * `Invalid/missing <field>`.
 */
export function requiredText(fields: Fields, field: string): string {
  const value = fieldOf(fields, field);
  if (typeof value !== 'string') throw new ControlRefusal(`Invalid/missing ${field}`);
  return value;
}

export function requiredUsername(fields: Fields): string {
  return checkName(requiredText(fields, 'username'), 'Username');
}

export function requiredGroupname(fields: Fields): string {
  return checkName(requiredText(fields, 'groupname'), 'Group name');
}

export function requiredRolename(fields: Fields): string {
  return checkName(requiredText(fields, 'rolename'), 'Role name');
}

/** Undefined: absent. Another type is refused; `label` is how the refusal names the field. */
export function optionalText(fields: Fields, field: string, label: string = field): string | undefined {
  const value = fieldOf(fields, field);
  if (value !== undefined && typeof value !== 'string') throw new ControlRefusal(`Invalid/missing ${label}`);
  return value === undefined ? undefined : checkText(value, field);
}

/** Undefined: absent, or no text, which a `modify…` command takes for absent. */
export function lenientText(fields: Fields, field: string): string | undefined {
  const value = fieldOf(fields, field);
  return typeof value === 'string' ? checkText(value, field) : undefined;
}

/** As C reads a number into an `int`. Another type counts as absent. */
export function integerOf(fields: Fields, field: string, fallback: number): number {
  const value = fieldOf(fields, field);
  if (typeof value !== 'number') return fallback;
  return Math.max(-0x8000_0000, Math.min(0x7fff_ffff, Math.trunc(value))) + 0;
}

/** Another type counts as absent. */
export function flagOf(fields: Fields, field: string, fallback: boolean): boolean {
  const value = fieldOf(fields, field);
  return typeof value === 'boolean' ? value : fallback;
}

/** Mosquitto takes no control characters, no code points that are no characters, and nothing longer than MQTT does. */
export function checkName(name: string, label: string): string {
  if (isTooLong(name) || /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(name)) {
    throw new ControlRefusal(`${label} not valid UTF-8`);
  }
  return name;
}

/** Texts are free, but what is no UTF-8 could not be kept as it is. */
function checkText(text: string, field: string): string {
  if (isTooLong(text)) throw new ControlRefusal(`The ${field} is too long`);
  return text.replace(/\p{Cs}/gu, '\ufffd');
}

export const isTooLong = (text: string): boolean => text.length > MAX_BYTES / 3 && Buffer.byteLength(text) > MAX_BYTES;

export interface Page {
  readonly verbose: boolean;
  readonly offset: number;
  /** Past the last one. */
  readonly end: number;
}

/** A `count` of 0 is one, of less is all. */
export function pageOf(fields: Fields): Page {
  const count = integerOf(fields, 'count', -1);
  const offset = Math.max(0, integerOf(fields, 'offset', 0));
  const end = count < 0 ? Number.POSITIVE_INFINITY : offset + Math.max(1, count);
  return { verbose: flagOf(fields, 'verbose', false), offset, end };
}
