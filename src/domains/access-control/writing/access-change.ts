import type {
  AccessClient,
  AccessGroup,
  AccessRole,
  AclRule,
  AclType,
  DefaultAcl,
  Membership,
} from '../policy/access-model.ts';

/** CREATE fails if the object exists, UPDATE fails if it does not exist, PUT creates or updates. */
export type PutMode = 'CREATE' | 'UPDATE' | 'PUT';

/** Missing keys stay unchanged, `null` clears a value, and a list replaces the whole list. */
export type ClientFields = Partial<Omit<AccessClient, 'username'>> & { readonly password?: string };
export type GroupFields = Partial<Omit<AccessGroup, 'groupname'>> & { readonly clients?: readonly Membership[] };
export type RoleFields = Partial<Omit<AccessRole, 'rolename' | 'allowWildcardSubs'>> & {
  readonly allowWildcardSubs?: boolean;
};

export type AccessChange =
  | { readonly kind: 'PUT_CLIENT'; readonly username: string; readonly mode: PutMode; readonly fields: ClientFields }
  | { readonly kind: 'DELETE_CLIENT'; readonly username: string }
  | { readonly kind: 'ADD_CLIENT_ROLE'; readonly username: string; readonly role: Membership }
  | { readonly kind: 'REMOVE_CLIENT_ROLE'; readonly username: string; readonly rolename: string }
  | { readonly kind: 'ADD_CLIENT_GROUP'; readonly username: string; readonly group: Membership }
  | { readonly kind: 'REMOVE_CLIENT_GROUP'; readonly username: string; readonly groupname: string }
  | { readonly kind: 'PUT_GROUP'; readonly groupname: string; readonly mode: PutMode; readonly fields: GroupFields }
  | { readonly kind: 'DELETE_GROUP'; readonly groupname: string }
  | { readonly kind: 'ADD_GROUP_ROLE'; readonly groupname: string; readonly role: Membership }
  | { readonly kind: 'REMOVE_GROUP_ROLE'; readonly groupname: string; readonly rolename: string }
  | { readonly kind: 'PUT_ROLE'; readonly rolename: string; readonly mode: PutMode; readonly fields: RoleFields }
  | { readonly kind: 'DELETE_ROLE'; readonly rolename: string }
  | { readonly kind: 'PUT_ROLE_ACL'; readonly rolename: string; readonly acl: AclRule }
  | { readonly kind: 'REMOVE_ROLE_ACL'; readonly rolename: string; readonly aclType: AclType; readonly topic: string }
  | { readonly kind: 'SET_DEFAULT_ACL'; readonly acl: Partial<DefaultAcl> }
  | { readonly kind: 'SET_ANONYMOUS_GROUP'; readonly groupname: string };

export type ChangeOf<Kind extends AccessChange['kind']> = Extract<AccessChange, { readonly kind: Kind }>;
