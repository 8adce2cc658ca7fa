import type { AccessRole } from '../../../protocol/apis/access-control/access-model.ts';
import { type Fields, fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';

type Texts = Pick<AccessRole, 'textName' | 'textDescription'>;

/** The maximum length of an MQTT string in bytes, which Mosquitto uses for names. */
const MAX_BYTES = 65_535;

const NAMES = { username: 'Username', groupname: 'Group name', rolename: 'Role name' } as const;

export const requiredName = (fields: Fields, field: keyof typeof NAMES): string =>
  checkName(requiredText(fields, field), NAMES[field]);

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

export const newTexts = (fields: Fields): Texts => ({
  textName: optionalText(fields, 'textname') ?? null,
  textDescription: optionalText(fields, 'textdescription') ?? null,
});

export const modifiedTexts = (fields: Fields, { textName, textDescription }: Texts): Texts => ({
  textName: lenientText(fields, 'textname') ?? textName,
  textDescription: lenientText(fields, 'textdescription') ?? textDescription,
});
