import type { ControlCaller } from '../../protocol/control/plugin.ts';

/** The `cedalo/license` control API: what a broker may do, and until when. */
export const LICENSE_API = 'cedalo/license';

/** 9999-12-31: `validUntil` of what never ends, the last moment that every date library can show. */
export const NO_END = 253_402_300_799_999;

export interface LicenseInformation {
  readonly plan: string;
  readonly edition: string;
  readonly issuedBy: string;
  readonly issuedTo: string;
  /** Epoch milliseconds. */
  readonly validSince: number;
  /** Epoch milliseconds; NO_END: never ends. */
  readonly validUntil: number;
  readonly features: readonly string[];
}

/** Errors: those of the caller. */
export async function getLicenseInformation(caller: ControlCaller): Promise<LicenseInformation> {
  return parseLicense(await caller.call(LICENSE_API, 'getLicenseInformation'));
}

/** Brokers tell features as objects and times in any form a date parser takes. What is absent or of a wrong type is left empty. */
export function parseLicense(data: unknown): LicenseInformation {
  const outer = fieldsOf(data);
  const fields = fieldsOf(outer.license ?? data);
  const edition = text(fields.edition);
  return {
    plan: text(fields.plan) || edition,
    edition,
    issuedBy: text(fields.issuedBy),
    issuedTo: text(fields.issuedTo),
    validSince: time(fields.validSince, 0),
    validUntil: time(fields.validUntil, NO_END),
    features: (Array.isArray(fields.features) ? fields.features : []).map(featureName).filter((name) => name !== ''),
  };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const featureName = (value: unknown): string => (typeof value === 'string' ? value : text(fieldsOf(value).name));

/** Below this a time is in seconds: as milliseconds it would be before March 1973. */
const SECONDS_END = 100_000_000_000;
/** The last moment that a Date can hold. */
const LAST_TIME = 8_640_000_000_000_000;

function time(value: unknown, fallback: number): number {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
  const raw = isNumber ? Number(value) : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (!Number.isFinite(raw) || raw < 0 || raw > LAST_TIME) return fallback;
  return Math.trunc(isNumber && raw < SECONDS_END ? raw * 1_000 : raw);
}
