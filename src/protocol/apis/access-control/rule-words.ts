import type { AccessAction } from './access-explanation.ts';
import type { AclRule, AclType } from './access-model.ts';

export const ACTION_WORDS: Readonly<Record<AccessAction, string>> = {
  PUBLISH: 'publishing',
  RECEIVE: 'receiving',
  SUBSCRIBE: 'subscribing',
  UNSUBSCRIBE: 'unsubscribing',
};

/** Before a topic or a topic filter. */
const TYPE_WORDS: Readonly<Record<AclType, string>> = {
  publishClientSend: 'publishing to',
  publishClientReceive: 'receiving',
  subscribePattern: 'subscribing within',
  subscribeLiteral: 'subscribing to exactly',
  unsubscribePattern: 'unsubscribing within',
  unsubscribeLiteral: 'unsubscribing from exactly',
};

/** A rule in words: `publishing to "a/#"`. */
export const ruleWords = ({ aclType, topic }: Pick<AclRule, 'aclType' | 'topic'>): string =>
  `${TYPE_WORDS[aclType]} "${topic}"`;
