import type { BridgeKind, BridgeRules } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { type IssuesInfo, issuesInfo, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { type CheckValue, compileCheck, createValidator } from '../../../platform/text/json-schema.ts';
import type { LeadsToOwnBroker } from '../../brokers/own-listeners.ts';
import type { BridgeConfigs } from './bridge-configs.ts';
import { configSizeIssues } from './bridge-control.ts';
import { unmasked } from './config-secrets.ts';
import { SecretPlace } from './secret-places.ts';
import { trustedOf, withTrust } from './trusted-addresses.ts';

export interface BridgeConfigCheckOptions {
  readonly kind: BridgeKind;
  readonly configs: BridgeConfigs;
  readonly rules: BridgeRules;
  readonly isOwnBroker: LeadsToOwnBroker;
}

interface CheckedConfig extends IssuesInfo {
  /** Digests of the addresses that may be internal, see trusted-addresses.ts. */
  readonly trusted: readonly string[];
}

/** Checks configurations of one kind of bridge for one broker, by the schema of the kind and the operator's rules. */
export class BridgeConfigCheck {
  readonly #options: BridgeConfigCheckOptions;
  readonly #checkSchema: CheckValue;

  constructor(options: BridgeConfigCheckOptions) {
    this.#options = options;
    this.#checkSchema = compileCheck(createValidator(), options.kind.schema);
  }

  get secrets(): SecretPlace {
    return SecretPlace.whole(this.#options.kind.schema, { byName: false });
  }

  /** With its secrets. Errors: INTERNAL_ERROR if it cannot be unsealed. */
  stored(): unknown {
    const { configs, kind } = this.#options;
    return configs.get() ?? kind.empty;
  }

  /** `null` if it cannot be unsealed: it is then replaced. */
  readable(): unknown {
    try {
      return this.stored();
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  /** Digests. A configuration that was stored without digests trusts all addresses. */
  trusted(stored: unknown): ReadonlySet<string> {
    const { kind, configs } = this.#options;
    return configs.trusted() ?? new Set(trustedOf(kind, stored));
  }

  /** Restores the secrets of a configuration that a caller gives, and checks it. */
  async given(
    change: unknown,
    stored: unknown,
    isByRootAdmin: boolean,
  ): Promise<CheckedConfig & { readonly config: unknown }> {
    const { isOwnBroker } = this.#options;
    const sizeIssues = configSizeIssues(change);
    if (sizeIssues.length > 0) return { config: change, trusted: [], ...issuesInfo(sizeIssues) };
    const { config, issues } = await runInSlices(unmasked(change, stored, this.secrets));
    // A missing secret has no further issues.
    const known = new Set(issues.map(({ path }) => path));
    const before = this.trusted(stored);
    const checked = this.checked(config, (digest, url) => isByRootAdmin || before.has(digest) || isOwnBroker(url));
    const { issues: others, omitted, trusted } = checked;
    return { config, trusted, ...issuesInfo([...issues, ...others.filter(({ path }) => !known.has(path))], omitted) };
  }

  checked(config: unknown, isTrusted: (digest: string, address: string) => boolean): CheckedConfig {
    const { kind, rules } = this.#options;
    try {
      this.#checkSchema(config);
    } catch (error) {
      if (error instanceof ServiceError) return { ...(error.info as IssuesInfo), trusted: [] };
      throw error;
    }
    const trusted = trustedOf(kind, config, isTrusted);
    return { ...issuesInfo(kind.check(withTrust(kind, config, new Set(trusted)), rules)), trusted };
  }
}
