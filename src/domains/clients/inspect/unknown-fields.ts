import { type ClientSource, type ConnectedClientDetail, INFLIGHT_KEYS, QUEUE_KEYS } from './inspect-data.ts';

/** A field of a client that is null because nobody could tell it. */
export interface UnknownField {
  /** As in the graph. */
  readonly field: string;
  readonly reason: string;
}

/** What a source that tells of clients tells of each. */
const ALWAYS_THERE = [
  'address',
  'protocol',
  'protocolVersion',
  'connected',
  'lastConnect',
  'queues',
  'numSubscriptions',
  'numPublished',
  'numSubscribed',
  'numDropped',
  'bytesPublished',
  'bytesSubscribed',
  'keepalive',
  'cleanSession',
  'listener',
  'subscriptions',
  'inflight',
] as const satisfies readonly (keyof ConnectedClientDetail)[];

/** What a client may be without; absent where the source tells the rest, it is. */
const MAY_BE_NONE = ['tls', 'will'] as const satisfies readonly (keyof ConnectedClientDetail)[];

/** Told by every edition of a broker's own API. */
const FREE: ReadonlySet<string> = new Set(['address', 'protocol', 'protocolVersion']);

const NOT_TOLD = 'The broker’s inspect API did not tell it, which for most fields needs a licence of the broker';

const NOT_COUNTED = 'The broker’s inspect API tells the others and not this one';

const NOT_KEPT = 'The client is not connected, and the broker has kept no more of its last connection';

const NOT_IN_LOG = 'Mosquitto tells it nowhere; a broker with an inspect API of its own does';
const CAME_BEFORE = 'The client connected before the log was followed; known when it connects again';
const OWN_CAME_BEFORE =
  'This service’s own connection, which has to be there before the log can be followed; known when it connects again';

/** By what is absent, where clients are followed through the log of a Mosquitto. */
const NOT_IN_LOG_FIELDS = [
  'queues',
  'numPublished',
  'numSubscribed',
  'numDropped',
  'bytesPublished',
  'bytesSubscribed',
  'will',
  'inflight',
] as const satisfies readonly (keyof ConnectedClientDetail)[];

/** The fields that are null, or of an object that is there, because the source does not know them; in the order of the graph. */
export function unknownFields(known: ConnectedClientDetail, source: ClientSource): UnknownField[] {
  return source === 'LOG_FEED' ? unknownByLog(known) : unknownByBroker(known);
}

function unknownByBroker(known: ConnectedClientDetail): UnknownField[] {
  const absent = ALWAYS_THERE.filter((field) => known[field] === undefined);
  const tellsMore = ALWAYS_THERE.some((field) => !FREE.has(field) && known[field] !== undefined);
  const unsure = tellsMore ? [] : MAY_BE_NONE.filter((field) => known[field] === undefined);
  const reason = known.connected === false && tellsMore ? NOT_KEPT : NOT_TOLD;
  const unknown: UnknownField[] = [...absent, ...unsure].map((field) => ({ field, reason }));
  const { queues, inflight } = known;
  const uncounted = [
    ...QUEUE_KEYS.filter((key) => queues && queues[key] === undefined).map((key) => `queues.${key}`),
    ...INFLIGHT_KEYS.filter((key) => inflight && inflight[key] === undefined).map((key) => `inflight.${key}`),
  ];
  for (const field of uncounted) unknown.push({ field, reason: NOT_COUNTED });
  return unknown;
}

function unknownByLog(known: ConnectedClientDetail): UnknownField[] {
  const unknown: UnknownField[] = [];
  const absent = (field: keyof ConnectedClientDetail, reason: string) => {
    if (known[field] === undefined) unknown.push({ field, reason });
  };
  // Each line of a connection has it. Of our own first one other things are known all the same.
  const wasSeen = known.cleanSession !== undefined;
  const before = known.gateway === true ? OWN_CAME_BEFORE : CAME_BEFORE;
  absent('address', before);
  absent('remotePort', before);
  absent('protocol', wasSeen ? 'The log of this version of Mosquitto does not tell WebSocket from MQTT' : before);
  absent('protocolVersion', before);
  absent('lastConnect', before);
  absent('keepalive', before);
  absent('cleanSession', before);
  absent(
    'listener',
    wasSeen ? 'The log names the listener of plain connections, when `log_type notice` is on' : CAME_BEFORE,
  );
  if (!wasSeen) absent('tls', before);
  else if (known.tls !== undefined && known.tls.clientCertificate === undefined) {
    unknown.push({ field: 'tls.clientCertificate', reason: NOT_IN_LOG });
  }
  absent('subscriptions', 'Set `log_type subscribe` and `log_type unsubscribe` in mosquitto.conf');
  absent(
    'numSubscriptions',
    known.subscriptions === undefined
      ? 'Set `log_type subscribe` and `log_type unsubscribe` in mosquitto.conf'
      : 'The session is older than the log that was followed, so there may be more subscriptions than those listed',
  );
  for (const field of NOT_IN_LOG_FIELDS) absent(field, NOT_IN_LOG);
  return unknown;
}
