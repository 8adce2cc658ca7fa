import type { introspection } from '../../src/generated/graph.d.ts';
import { catalogue } from '../texts/texts.ts';

export type RefusalKind = introspection['types']['RefusalKind']['enumValues'];

export const refusalTexts = catalogue('refusals', {
  search: 'Client, account, topic or address',
  kind: 'Kind',
  any: 'any',
  noMatch: 'Nothing that was denied matches the filter.',
  whatHelps: 'What would help',
  decidedBy: 'Decided by',
  times: 'Times',
  last: 'Last',
  first: 'First',
  refused: 'Denied',
  CONNECT: 'a connection',
  PACKET: 'a packet, which closed the connection',
  TAKEOVER: 'a connection that another client replaced',
  PUBLISH: 'a publish',
  SUBSCRIBE: 'a subscription',
  UNSUBSCRIBE: 'the end of a subscription',
  becauseOf: 'Denied: {reason}',
  takenOverBy: 'Replaced by',
  listenerPort: 'Port of the listener',
  detail: 'In the words of the broker',
  reasonCode: 'Reason code of MQTT',
  isMerged: 'Several clients of one network are counted together, without their names.',
  allRefusals: 'All that was denied',
  noRefusal: 'This entry is not in the list any more.',
  setPassword: 'Set a new password of the account {name}',
  toAccount: 'To the account {name}',
  createAccount: 'To the accounts, to create one',
  toGroups: 'To the groups, to set one for clients without a user name',
  toListeners: 'To the listeners of the broker',
  toCertificates: 'To the certificates of the project',
  toTopics: 'To the retained messages',
  noRefusals: 'No client was denied anything since {time}.',
  tryWrong:
    'Who is denied a connection or a topic is listed here, with the reason and what would help. Try it with a wrong password:',
});
