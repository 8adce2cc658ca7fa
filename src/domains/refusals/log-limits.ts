import type { CapabilityReason } from '../../protocol/control/capability-reason.ts';
import type { LogDialect } from '../../protocol/mosquitto-log/log-dialect.ts';
import type { LogReader } from '../../protocol/mosquitto-log/log-reader.ts';

const NOT_OVER_WEBSOCKET = 'no refused connections over WebSocket, and no failed TLS handshakes of WebSocket listeners';

/** What each version does not report, beyond what no version does. */
const MISSING: Readonly<Record<LogDialect, string>> = {
  '2.0.0': `Mosquitto 2.0.0 to 2.0.12 reports no client id of a refused connection, its address only if no other connection is being opened, and ${NOT_OVER_WEBSOCKET}.`,
  '2.0.13': `Mosquitto 2.0.13 to 2.0.22 reports the client id of a connection only if it was not authorized, its address only if no other connection is being opened, and ${NOT_OVER_WEBSOCKET}.`,
  '2.1.0':
    'Mosquitto 2.1.0 reports the client id of a connection only if it was not authorized, and its address only if no other connection is being opened.',
  '2.1.1': 'Mosquitto 2.1 reports the client id of a connection only if it was not authorized.',
};

/** What the log does not report about refusals, by its version. */
export const limitOfLog = ({ dialect }: LogReader): CapabilityReason => ({
  code: 'LOG_WITHOUT_DETAILS',
  text: [
    'Mosquitto reports refused connections in its log (`log_dest topic` with `log_type notice`; the reason of a failed TLS handshake with `log_type error`, of a wrong protocol version with `log_type information`).',
    'It does not report whether the account or the password is wrong.',
    dialect === null ? 'The version of this log is not known, so refusals may be missing.' : MISSING[dialect],
    'It reports denied publishes and subscriptions to no topic: it writes denied publishes with `log_type debug` to a file or to the console only, and denied subscriptions nowhere. Use `explainAccess` to find the rule that denies a topic.',
  ].join(' '),
});
