import { LAST_DATE_TIME } from '../../platform/date-times.ts';
import { KNOWN_APIS } from '../control/capability-probe.ts';
import { timeOf } from '../control/fields.ts';
import { type ControlCaller, ControlRefusal, type PluginFactory } from '../control/plugin.ts';

/** Control API that reports the features of a broker's licence and its validity. */
export const LICENSE_API = 'cedalo/license';

/** `validSince` of a licence without a start. */
export const NO_START = 0;
/** `validUntil` of an unlimited licence: 9999-12-31, the last day that every date library supports. */
export const NO_END = LAST_DATE_TIME;

export interface LicenseInformation {
  readonly plan: string;
  readonly edition: string;
  readonly issuedBy: string;
  readonly issuedTo: string;
  readonly validSince: number;
  /** Epoch milliseconds; NO_END if unlimited. */
  readonly validUntil: number;
  readonly features: readonly string[];
}

export async function getLicenseInformation(caller: ControlCaller): Promise<LicenseInformation> {
  return parseLicense(await caller.call(LICENSE_API, 'getLicenseInformation'));
}

/** Features may be objects, and times any text that Date.parse accepts. Invalid values become empty. */
export function parseLicense(data: unknown): LicenseInformation {
  const outer = fieldsOf(data);
  const fields = fieldsOf(outer.license ?? data);
  const edition = text(fields.edition);
  return {
    plan: text(fields.plan) || edition,
    edition,
    issuedBy: text(fields.issuedBy),
    issuedTo: text(fields.issuedTo),
    validSince: time(fields.validSince, NO_START),
    validUntil: time(fields.validUntil, NO_END),
    features: (Array.isArray(fields.features) ? fields.features : []).map(featureName).filter((name) => name !== ''),
  };
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const featureName = (value: unknown): string => (typeof value === 'string' ? value : text(fieldsOf(value).name));

/** Smaller times are in seconds: as milliseconds they would be before March 1973. */
const SECONDS_END = 100_000_000_000;

function time(value: unknown, fallback: number): number {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
  const raw = isNumber ? Number(value) : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return timeOf(isNumber && raw < SECONDS_END ? raw * 1_000 : raw) ?? fallback;
}

/** `cedalo/license` for brokers without a licence: open source, unlimited, with the available control APIs. */
export const licensePlugin: PluginFactory = {
  api: LICENSE_API,
  create: async ({ controls }) => ({
    api: LICENSE_API,
    async execute({ command }) {
      if (command.toLowerCase() !== 'getlicenseinformation') throw new ControlRefusal('Unknown command');
      return {
        plan: 'open-source',
        edition: 'mosquitto',
        issuedBy: '',
        issuedTo: '',
        validSince: 0,
        validUntil: NO_END,
        features: controls ? await servedApis(controls) : [],
      } satisfies LicenseInformation;
    },
    close: () => undefined,
  }),
};

async function servedApis(controls: ControlCaller): Promise<string[]> {
  const others = KNOWN_APIS.filter((api) => api !== LICENSE_API);
  const capabilities = await Promise.all(others.map((api) => controls.capability(api)));
  return capabilities.filter(({ provider }) => provider !== 'NONE').map(({ api }) => api);
}
