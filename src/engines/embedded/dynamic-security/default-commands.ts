import {
  DEFAULT_ACL_TYPES,
  type DefaultAcl,
  type DefaultAclType,
} from '../../../domains/access-control/policy/access-model.ts';
import { fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { CommandTable } from './command-table.ts';

const TYPES: ReadonlyMap<string, DefaultAclType> = new Map(DEFAULT_ACL_TYPES.map((type) => [type.toLowerCase(), type]));

/** Commands for the default access, and for access control as a whole. */
export const DEFAULT_COMMANDS: CommandTable = {
  /** Entries with an unknown type or without `allow` are skipped. */
  setDefaultACLAccess(command, { state }) {
    const entries = fieldOf(command, 'acls');
    if (!Array.isArray(entries)) throw new ControlRefusal('Missing/invalid actions array');
    const defaultAcl: { -readonly [type in DefaultAclType]: DefaultAcl[type] } = { ...state.policy.defaultAcl };
    for (const entry of entries) {
      if (!isFields(entry)) continue;
      const type = fieldOf(entry, 'acltype');
      const allow = fieldOf(entry, 'allow');
      const aclType = typeof type === 'string' ? TYPES.get(type.toLowerCase()) : undefined;
      if (aclType && typeof allow === 'boolean') defaultAcl[aclType] = allow;
    }
    state.putSettings({ defaultAcl });
  },

  getDefaultACLAccess(_command, { state }) {
    const { defaultAcl } = state.policy;
    return { acls: DEFAULT_ACL_TYPES.map((acltype) => ({ acltype, allow: defaultAcl[acltype] })) };
  },

  getDetails(_command, { state }) {
    const { clients, groups, roles } = state.policy;
    const { changeIndex } = state.settings;
    return { clientCount: clients.size, groupCount: groups.size, roleCount: roles.size, changeIndex };
  },
};
