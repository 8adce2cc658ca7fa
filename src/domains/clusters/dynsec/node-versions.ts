import { ServiceError } from '../../../platform/errors.ts';
import type { AccessDialect } from '../../../protocol/apis/access-control/access-model.ts';
import {
  isKeptByNewOnly,
  isSameRule,
  supports,
  type VersionFeature,
  type VersionRule,
  versionRulesOf,
} from '../../../protocol/apis/access-control/version-rules.ts';
import type { AccessDocument } from '../../access-control/documents/access-document.ts';
import type { AccessChange } from '../../access-control/writing/access-change.ts';
import { heldNames } from '../../access-control/writing/gateway-account.ts';
import type { PolicyNow } from '../../access-control/writing/read-back.ts';
import type { ClusterNodeRecord } from '../model/cluster.ts';

type Node = Pick<ClusterNodeRecord, 'nodeId' | 'brokerId'>;

interface KnownNode {
  readonly dialect: AccessDialect;
  /** The roles of the connection of this service, which are not synchronized. */
  readonly ownRoles: ReadonlySet<string>;
}

/**
 * The dialects of the nodes of one synchronized cluster, as last read by this process. The oldest node decides which
 * rules the cluster may have: an older broker ignores a newer rule, or takes it literally, and so may grant access.
 */
export class NodeVersions {
  readonly #known = new Map<string, KnownNode>();
  #rules: { readonly document: AccessDocument; readonly rules: readonly VersionRule[] } | null = null;

  learn({ brokerId }: Node, { policy, dialect }: PolicyNow, gatewayUsername: string | null): void {
    this.#known.set(brokerId, { dialect, ownRoles: heldNames(policy, gatewayUsername).roles });
  }

  knows({ brokerId }: Node): boolean {
    return this.#known.has(brokerId);
  }

  rulesOf(document: AccessDocument): readonly VersionRule[] {
    if (this.#rules?.document !== document) this.#rules = { document, rules: document.roles.flatMap(versionRulesOf) };
    return this.#rules.rules;
  }

  /** Returns the dialect without the features that a node lacks. */
  weakest(dialect: AccessDialect, nodes: readonly Node[]): AccessDialect {
    const isLacked = (feature: VersionFeature) => nodes.some((node) => this.#supports(node, feature) === false);
    return {
      ...dialect,
      substitution: dialect.substitution && !isLacked('SUBSTITUTION'),
      wildcardFlag: dialect.wildcardFlag && !isLacked('WILDCARD_FLAG'),
    };
  }

  /** Errors: NOT_SUPPORTED_BY_BROKER, with the first node and rule. */
  requireKept(rules: readonly VersionRule[], nodes: readonly Node[]): void {
    for (const node of nodes) {
      for (const rule of rules) {
        const isSupported = this.#supports(node, rule.feature);
        if (isKeptByNewOnly(rule) && isSupported !== true) throw notKept(node, rule, isSupported === false);
      }
    }
  }

  /** The rules that the node evaluates otherwise than newer nodes, or cannot keep. `null` if its version is unknown. */
  differing(document: AccessDocument, node: Node, nodes: readonly Node[]): readonly VersionRule[] | null {
    const known = this.#known.get(node.brokerId);
    if (known === undefined || known.dialect.isAssumed) return null;
    const isOlder = (feature: VersionFeature) => nodes.some((other) => this.#supports(other, feature) === true);
    return this.rulesOf(document).filter(
      (rule) =>
        !known.ownRoles.has(rule.rolename) &&
        supports(known.dialect, rule.feature) === false &&
        (isKeptByNewOnly(rule) || isOlder(rule.feature)),
    );
  }

  #supports({ brokerId }: Node, feature: VersionFeature): boolean | null {
    const known = this.#known.get(brokerId);
    return known === undefined ? null : supports(known.dialect, feature);
  }
}

/** Returns the rules that the changes add to the document, of those whose effect depends on the version. */
export function addedRules(changes: readonly AccessChange[], document: AccessDocument | null): VersionRule[] {
  return changes.flatMap(writtenRules).filter(({ rolename, rule }) => {
    const role = document?.roles.find((one) => one.rolename === rolename);
    return rule === null
      ? role?.allowWildcardSubs !== false
      : role?.acls?.some((other) => isSameRule(other, rule)) !== true;
  });
}

function writtenRules(change: AccessChange): VersionRule[] {
  if (change.kind === 'PUT_ROLE') return versionRulesOf({ rolename: change.roleName, ...change.fields });
  if (change.kind === 'PUT_ROLE_ACL') return versionRulesOf({ rolename: change.roleName, acls: [change.acl] });
  return [];
}

const WHY = {
  SUBSTITUTION: 'its version does not replace %c and %u',
  WILDCARD_FLAG: 'its version ignores allowWildcardSubs',
  FILTER_MATCHING: 'its version compares topic filters differently',
} as const satisfies Record<VersionFeature, string>;

function notKept({ nodeId }: Node, { rolename, feature, rule }: VersionRule, isKnown: boolean): ServiceError {
  const why = isKnown ? WHY[feature] : 'the version of its broker is not known';
  const what = rule === null ? 'allowWildcardSubs: false' : `${rule.aclType} "${rule.topic}"`;
  const reason = `Node ${nodeId} cannot keep ${what} of the role "${rolename}": ${why}. Mosquitto 2.1 or newer is required on all nodes of the cluster`;
  return new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { reason, nodeId, roleName: rolename } });
}
