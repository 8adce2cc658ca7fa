import { DEFAULT_ACL_TYPES } from '../policy/access-model.ts';
import type { AccessChange } from './access-change.ts';
import type { DynsecWrite } from './dynsec-writes.ts';
import { groupOf } from './plan-references.ts';
import type { PolicyDraft } from './policy-draft.ts';

type Change<Kind extends AccessChange['kind']> = Extract<AccessChange, { readonly kind: Kind }>;

export function setDefaultAcl(draft: PolicyDraft, { acl }: Change<'SET_DEFAULT_ACL'>): DynsecWrite[] {
  const changed = DEFAULT_ACL_TYPES.flatMap((type) => {
    const allow = acl[type];
    return allow === undefined || allow === draft.defaultAcl[type] ? [] : [{ acltype: type, allow }];
  });
  return changed.length === 0 ? [] : [{ command: 'setDefaultACLAccess', fields: { acls: changed } }];
}

/** The same one again would disconnect all who are connected without user name. */
export function setAnonymousGroup(draft: PolicyDraft, { groupname }: Change<'SET_ANONYMOUS_GROUP'>): DynsecWrite[] {
  groupOf(draft, groupname);
  return draft.anonymousGroup === groupname ? [] : [{ command: 'setAnonymousGroup', fields: { groupname } }];
}
