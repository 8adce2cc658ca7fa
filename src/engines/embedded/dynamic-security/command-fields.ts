import { type Fields, fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';

/** The maximum length of an MQTT string in bytes, which Mosquitto uses for names. */
const MAX_BYTES = 65_535;

export function requiredUsername(fields: Fields): string {
  return checkName(requiredText(fields, 'username'), 'Username');
}

export function requiredGroupname(fields: Fields): string {
  return checkName(requiredText(fields, 'groupname'), 'Group name');
}

export function requiredRolename(fields: Fields): string {
  return checkName(requiredText(fields, 'rolename'), 'Role name');
}

/** `undefined` if the field is absent. Another type is refused; `label` is the name of the field in the refusal. */
export function optionalText(fields: Fields, field: string, label: string = field): string | undefined {
  const value = fieldOf(fields, field);
  if (value !== undefined && typeof value !== 'string') throw new ControlRefusal(`Invalid/missing ${label}`);
  return value === undefined ? undefined : checkText(value, field);
}

/** `undefined` if the field is absent or has another type, which means absent in a `modify…` command. */
export function lenientText(fields: Fields, field: string): string | undefined {
  const value = fieldOf(fields, field);
  return typeof value === 'string' ? checkText(value, field) : undefined;
}

/** Converts a number like the `int` of C. Another type means absent. */
export function integerOf(fields: Fields, field: string, fallback: number): number {
  const value = fieldOf(fields, field);
  if (typeof value !== 'number') return fallback;
  return Math.max(-0x8000_0000, Math.min(0x7fff_ffff, Math.trunc(value))) + 0;
}

/** Another type means absent. */
export function flagOf(fields: Fields, field: string, fallback: boolean): boolean {
  const value = fieldOf(fields, field);
  return typeof value === 'boolean' ? value : fallback;
}

/** Like Mosquitto, refuses control characters, noncharacters, and names that are longer than MQTT allows. */
export function checkName(name: string, label: string): string {
  if (isTooLong(name) || /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(name)) {
    throw new ControlRefusal(`${label} not valid UTF-8`);
  }
  return name;
}

/** Replaces lone surrogates, which cannot be stored as UTF-8. */
function checkText(text: string, field: string): string {
  if (isTooLong(text)) throw new ControlRefusal(`The ${field} is too long`);
  return text.replace(/\p{Cs}/gu, '\ufffd');
}

export const isTooLong = (text: string): boolean => text.length > MAX_BYTES / 3 && Buffer.byteLength(text) > MAX_BYTES;

/** As in Mosquitto, a `count` of 0 means 1, and a negative one means all. */
export function pageOf(fields: Fields) {
  const count = integerOf(fields, 'count', -1);
  const offset = Math.max(0, integerOf(fields, 'offset', 0));
  const end = count < 0 ? Number.POSITIVE_INFINITY : offset + Math.max(1, count);
  return { verbose: flagOf(fields, 'verbose', false), offset, end };
}
