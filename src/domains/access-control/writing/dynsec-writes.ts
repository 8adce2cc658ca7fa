import type { AclType, DefaultAclType } from '../policy/access-model.ts';

type Entry<Key extends string> = Readonly<Record<Key, string>> & { readonly priority: number };
export type RoleEntry = Entry<'rolename'>;
export type GroupEntry = Entry<'groupname'>;
export type MemberEntry = Entry<'username'>;

export interface AclEntry {
  readonly acltype: AclType;
  readonly topic: string;
  readonly priority: number;
  /** Brokers treat a missing value as `false`. */
  readonly allow: boolean;
}

export interface TextFields {
  readonly textname?: string;
  readonly textdescription?: string;
}

interface Write<Command extends string, Fields> {
  readonly command: Command;
  readonly fields: Fields;
}

type OfClient<More = unknown> = { readonly username: string } & More;
type OfGroup<More = unknown> = { readonly groupname: string } & More;
type OfRole<More = unknown> = { readonly rolename: string } & More;

/**
 * Fields as in JSON. `roles` of createClient, createGroup and modifyGroup are never sent: Mosquitto up to 2.1 does not
 * register the holder with the role then, so a later `deleteRole` leaves a dangling reference (2.0.11 crashes; in 2.1.2
 * the holder gets the next role that is created).
 */
export type DynsecWrite =
  | Write<
      'createClient',
      OfClient<
        TextFields & { readonly password?: string; readonly clientid?: string; readonly groups?: readonly GroupEntry[] }
      >
    >
  | Write<
      'modifyClient',
      OfClient<
        TextFields & {
          readonly password?: string;
          readonly clientid?: string;
          readonly roles?: readonly RoleEntry[];
          readonly groups?: readonly GroupEntry[];
        }
      >
    >
  | Write<'setClientPassword', OfClient<{ readonly password: string }>>
  | Write<'deleteClient' | 'enableClient' | 'disableClient', OfClient>
  | Write<'addClientRole', OfClient<RoleEntry>>
  | Write<'removeClientRole', OfClient<{ readonly rolename: string }>>
  | Write<'createGroup', OfGroup<TextFields>>
  | Write<'modifyGroup', OfGroup<TextFields & { readonly clients?: readonly MemberEntry[] }>>
  | Write<'deleteGroup' | 'setAnonymousGroup', OfGroup>
  | Write<'addGroupClient', OfGroup<MemberEntry>>
  | Write<'removeGroupClient', OfGroup<{ readonly username: string }>>
  | Write<'addGroupRole', OfGroup<RoleEntry>>
  | Write<'removeGroupRole', OfGroup<{ readonly rolename: string }>>
  | Write<
      'createRole' | 'modifyRole',
      OfRole<TextFields & { readonly allowwildcardsubs?: boolean; readonly acls?: readonly AclEntry[] }>
    >
  | Write<'deleteRole', OfRole>
  | Write<'addRoleACL', OfRole<AclEntry>>
  | Write<'removeRoleACL', OfRole<{ readonly acltype: AclType; readonly topic: string }>>
  | Write<
      'setDefaultACLAccess',
      { readonly acls: readonly { readonly acltype: DefaultAclType; readonly allow: boolean }[] }
    >;

export type FieldsOf<Command extends DynsecWrite['command']> = (DynsecWrite & {
  readonly command: Command;
})['fields'];
