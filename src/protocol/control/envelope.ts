export type ControlApi =
  | 'broker'
  | 'dynamic-security'
  | 'stream-processing'
  | 'certificate-management'
  | 'cedalo/inspect'
  | 'cedalo/client-control'
  | 'cedalo/topictree'
  | 'cedalo/ha'
  | 'cedalo/license'
  | 'brokergraph/password-copies'
  | 'brokergraph/refusals'
  | `cedalo/${string}-bridge`;

export interface ControlCommand {
  readonly command: string;
  readonly correlationData?: string;
  readonly [field: string]: unknown;
}

export interface ControlResponse {
  readonly command: string;
  readonly correlationData?: string;
  readonly data?: unknown;
  readonly error?: string;
}

/** An event on the response topic. The embedded broker adds `responses: []`. */
export interface ControlEvent {
  readonly type: 'event';
  readonly event: string;
  readonly [field: string]: unknown;
}

export const requestTopic = (api: ControlApi): string => `$CONTROL/${api}/v1`;
export const responseTopic = (api: ControlApi): string => `$CONTROL/${api}/v1/response`;

/** Response topics of commercial bridges whose documentation differs from their request topics. */
const OTHER_RESPONSES: Readonly<Record<string, string>> = {
  'cedalo/influxdb-bridge': '$CONTROL/cedalo/influx-db/v1/response',
  'cedalo/mongodb-bridge': '$CONTROL/cedalo/mongo-db/v1/response',
};

export const otherResponseTopic = (api: ControlApi): string | null => OTHER_RESPONSES[api] ?? null;
