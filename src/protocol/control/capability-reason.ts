import { ServiceError } from '../../platform/errors.ts';
import type { ControlApi } from './envelope.ts';

/** Why an API is limited or not available. The schema describes each code. */
const CAPABILITY_REASONS = [
  'CLIENTS_UNKNOWN',
  'CONTROL_API_DISABLED',
  'LICENSE_MISSING',
  'LOG_MISSING',
  'LOG_NOT_PUBLISHED',
  'LOG_NOT_UNDERSTOOD',
  'LOG_PERMISSION_MISSING',
  'LOG_WITHOUT_CONNECTIONS',
  'LOG_WITHOUT_DETAILS',
  'NODES_SEPARATE',
  'NOT_OFFERED',
  'NO_CERTIFICATE_MANAGEMENT',
  'NO_CLUSTER_PLUGIN',
  'NO_DYNAMIC_SECURITY',
  'NO_TAKEOVER',
  'ONLY_TAKEOVER',
  'OTHER_PROCESS',
  'PERMISSION_MISSING',
] as const;
export type CapabilityReasonCode = (typeof CAPABILITY_REASONS)[number];

export interface CapabilityReason {
  readonly code: CapabilityReasonCode;
  /** Names the remedy. */
  readonly text: string;
}

export const isCapabilityReason = (value: unknown): value is CapabilityReasonCode =>
  (CAPABILITY_REASONS as readonly unknown[]).includes(value);

interface Reported {
  readonly reason?: string;
  readonly reasonCode?: CapabilityReasonCode;
}

/** Why a capability is limited or not available. `null` if it is completely available. */
export const reasonOf = ({ reason, reasonCode }: Reported): CapabilityReason | null =>
  reason === undefined || reasonCode === undefined ? null : { code: reasonCode, text: reason };

export const notOffered = (api: ControlApi): CapabilityReason => ({
  code: 'NOT_OFFERED',
  text: `The broker does not offer ${api}`,
});

/** The error for commands of an API that is not available. */
export function notSupported({ api, ...reported }: Reported & { readonly api: ControlApi }): ServiceError {
  const { code, text } = reasonOf(reported) ?? notOffered(api);
  return new ServiceError('NOT_SUPPORTED_BY_BROKER', text, { info: { api, reason: text, reasonCode: code } });
}
