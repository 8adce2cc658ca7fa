import type { Translate } from '../texts/texts.ts';
import type { Rule } from './operations.ts';

type RuleKey = Rule['aclType'] | 'allowRule' | 'denyRule';

/** A rule in words: "Allows to publish to plant/#, priority 0". */
export const ruleText = ({ aclType, allow, topic, priority }: Rule, text: Translate<RuleKey>): string =>
  text(allow ? 'allowRule' : 'denyRule', { what: text(aclType), topic, priority });
