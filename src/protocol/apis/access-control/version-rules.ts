import { filterProblem } from '../../mqtt/topics.ts';
import type { AccessDialect, AccessRole, AclRule } from './access-model.ts';
import { substitutionOf } from './acl-filter.ts';

/** What brokers before Mosquitto 2.1 evaluate differently. See the descriptions in the schema. */
export type VersionFeature = 'SUBSTITUTION' | 'WILDCARD_FLAG' | 'FILTER_MATCHING';

/** A rule whose effect depends on the version of the broker. */
export interface VersionRule {
  readonly rolename: string;
  readonly feature: VersionFeature;
  /** `null` for the wildcard flag of the role. */
  readonly rule: Pick<AclRule, 'aclType' | 'topic' | 'allow'> | null;
}

type RuleHolder = Pick<AccessRole, 'rolename'> & {
  readonly allowWildcardSubs?: boolean | null;
  readonly acls?: readonly NonNullable<VersionRule['rule']>[];
};

export function versionRulesOf({ rolename, allowWildcardSubs, acls = [] }: RuleHolder): VersionRule[] {
  const rules = acls.flatMap((rule): VersionRule[] => {
    const feature = featureOf(rule);
    return feature === null ? [] : [{ rolename, feature, rule }];
  });
  return allowWildcardSubs === false ? [{ rolename, feature: 'WILDCARD_FLAG', rule: null }, ...rules] : rules;
}

/** `null` if the version of the broker is not known. */
export function supports(dialect: AccessDialect, feature: VersionFeature): boolean | null {
  return dialect.isAssumed ? null : dialect[SUPPORTED[feature]];
}

/** Whether a broker without the feature ignores the rule or takes it literally, so that it cannot have its effect. */
export const isKeptByNewOnly = ({ feature }: VersionRule): boolean => feature !== 'FILTER_MATCHING';

/** No broker replaces placeholders in literal rules. */
export const substitutes = ({ aclType, topic }: Pick<AclRule, 'aclType' | 'topic'>): boolean =>
  !aclType.endsWith('Literal') && substitutionOf(topic) !== null;

export const isSameRule = (one: Pick<AclRule, 'aclType' | 'topic'>, other: Pick<AclRule, 'aclType' | 'topic'>) =>
  one.aclType === other.aclType && one.topic === other.topic;

const SUPPORTED = {
  SUBSTITUTION: 'substitution',
  WILDCARD_FLAG: 'wildcardFlag',
  FILTER_MATCHING: 'wildcardsExcludeDollar',
} as const satisfies Record<VersionFeature, keyof AccessDialect>;

function featureOf(rule: Pick<AclRule, 'aclType' | 'topic'>): VersionFeature | null {
  if (substitutes(rule)) return 'SUBSTITUTION';
  const { aclType, topic } = rule;
  // See invalid-filter.ts, and legacyFilterCovers.
  if (!aclType.endsWith('Literal') && filterProblem(topic) !== null) return 'FILTER_MATCHING';
  if (aclType !== 'subscribePattern' && aclType !== 'unsubscribePattern') return null;
  return /^[+#]/.test(topic) || topic === '/#' ? 'FILTER_MATCHING' : null;
}
