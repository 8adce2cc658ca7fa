import { DEFAULT_ACL_TYPES } from '../policy/access-model.ts';
import type { ChangeOf } from './access-change.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { groupOf } from './plan-references.ts';
import type { PolicyDraft } from './policy-draft.ts';

export function setDefaultAcl(draft: PolicyDraft, { acl }: ChangeOf<'SET_DEFAULT_ACL'>): DynsecWrite[] {
  const changed = DEFAULT_ACL_TYPES.flatMap((type) => {
    const allow = acl[type];
    return allow === undefined || allow === draft.defaultAcl[type] ? [] : [{ acltype: type, allow }];
  });
  return changed.length === 0 ? [] : [{ command: 'setDefaultACLAccess', fields: { acls: changed } }];
}

/** Setting the current group again would disconnect all clients without a user name, so it sends no command. */
export function setAnonymousGroup(draft: PolicyDraft, { groupname }: ChangeOf<'SET_ANONYMOUS_GROUP'>): DynsecWrite[] {
  groupOf(draft, groupname);
  return draft.anonymousGroup === groupname ? [] : [{ command: 'setAnonymousGroup', fields: { groupname } }];
}
