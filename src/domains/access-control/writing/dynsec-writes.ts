import type { AclType, DefaultAclType } from '../policy/access-model.ts';

/** A role as `roles` of a command has it. */
export interface RoleEntry {
  readonly rolename: string;
  readonly priority: number;
}

/** A group as `groups` of a command has it. */
export interface GroupEntry {
  readonly groupname: string;
  readonly priority: number;
}

/** A member as `clients` of a command has it. */
export interface MemberEntry {
  readonly username: string;
  readonly priority: number;
}

export interface AclEntry {
  readonly acltype: AclType;
  readonly topic: string;
  readonly priority: number;
  /** A broker takes its absence for false. */
  readonly allow: boolean;
}

interface TextFields {
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
 * The writing commands of `dynamic-security` that are sent, with their fields as on the wire. Not among them: `roles` in
 * createClient, createGroup and modifyGroup. Mosquitto up to 2.1 does not note the holder at the role then, so that a later
 * `deleteRole` leaves a dangling reference (2.0.11 crashes, 2.1.2 gives the holder the next role that is created).
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
