import type {
  AccessGroup,
  AccessRole,
  Account,
  AclRule,
  AclType,
  DefaultAcl,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';

/** CREATE fails if the object exists, UPDATE fails if it does not exist, PUT creates or updates. */
export type PutMode = 'CREATE' | 'UPDATE' | 'PUT';

/** `priority: null` keeps the current priority; a new entry gets DEFAULT_MEMBERSHIP_PRIORITY. */
export interface RequestedMembership {
  readonly name: string;
  readonly priority: number | null;
}

/** Missing keys stay unchanged, `null` clears a value, and a list replaces the whole list. */
export type ClientFields<Entry = Membership> = Partial<Omit<Account, 'username' | 'roles' | 'groups'>> & {
  readonly password?: string;
  readonly roles?: readonly Entry[];
  readonly groups?: readonly Entry[];
};
export type GroupFields<Entry = Membership> = Partial<Omit<AccessGroup, 'groupname' | 'roles'>> & {
  readonly roles?: readonly Entry[];
  readonly members?: readonly Entry[];
};
export type RoleFields = Partial<Omit<AccessRole, 'rolename' | 'allowWildcardSubs'>> & {
  readonly allowWildcardSubs?: boolean;
};

type Change<Entry> =
  | {
      readonly kind: 'PUT_CLIENT';
      readonly username: string;
      readonly mode: PutMode;
      readonly fields: ClientFields<Entry>;
    }
  | { readonly kind: 'DELETE_CLIENT'; readonly username: string }
  | { readonly kind: 'ADD_CLIENT_ROLE'; readonly username: string; readonly role: Entry }
  | { readonly kind: 'REMOVE_CLIENT_ROLE'; readonly username: string; readonly roleName: string }
  | { readonly kind: 'ADD_CLIENT_GROUP'; readonly username: string; readonly group: Entry }
  | { readonly kind: 'REMOVE_CLIENT_GROUP'; readonly username: string; readonly groupName: string }
  | {
      readonly kind: 'PUT_GROUP';
      readonly groupName: string;
      readonly mode: PutMode;
      readonly fields: GroupFields<Entry>;
    }
  | { readonly kind: 'DELETE_GROUP'; readonly groupName: string }
  | { readonly kind: 'ADD_GROUP_ROLE'; readonly groupName: string; readonly role: Entry }
  | { readonly kind: 'REMOVE_GROUP_ROLE'; readonly groupName: string; readonly roleName: string }
  | { readonly kind: 'PUT_ROLE'; readonly roleName: string; readonly mode: PutMode; readonly fields: RoleFields }
  | { readonly kind: 'DELETE_ROLE'; readonly roleName: string }
  | { readonly kind: 'PUT_ROLE_ACL'; readonly roleName: string; readonly acl: AclRule }
  | { readonly kind: 'REMOVE_ROLE_ACL'; readonly roleName: string; readonly aclType: AclType; readonly topic: string }
  | { readonly kind: 'SET_DEFAULT_ACL'; readonly acl: Partial<DefaultAcl> }
  | { readonly kind: 'SET_ANONYMOUS_GROUP'; readonly groupName: string };

export type AccessChange = Change<RequestedMembership>;
/** A change whose priorities are all known. */
export type ResolvedChange = Change<Membership>;

export type ChangeOf<Kind extends AccessChange['kind']> = Extract<ResolvedChange, { readonly kind: Kind }>;

/** The changes of one request. */
export interface AccessWrite {
  readonly changes: readonly AccessChange[];
  /** Whether the caller may change rights on `$CONTROL/`. See ControlRights. */
  readonly mayControl: boolean;
}
