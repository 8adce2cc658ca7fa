import type {
  AclRule,
  AclType,
  DefaultAclType,
  Membership,
} from '../../../protocol/apis/access-control/access-model.ts';

type Entry<Key extends string> = Readonly<Record<Key, string>> & { readonly priority: number };
type RoleEntry = Entry<'rolename'>;
type GroupEntry = Entry<'groupname'>;
type MemberEntry = Entry<'username'>;

interface AclEntry {
  readonly acltype: AclType;
  readonly topic: string;
  readonly priority: number;
  /** Brokers treat a missing value as `false`. */
  readonly allow: boolean;
}

interface TextFields {
  readonly textname?: string;
  readonly textdescription?: string;
}

interface NewClientFields extends TextFields {
  readonly password?: string;
  readonly clientid?: string;
  readonly groups?: readonly GroupEntry[];
}

interface NewRoleFields extends TextFields {
  readonly allowwildcardsubs?: boolean;
  readonly acls?: readonly AclEntry[];
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
  | Write<'createClient', OfClient<NewClientFields>>
  | Write<'modifyClient', OfClient<NewClientFields & { readonly roles?: readonly RoleEntry[] }>>
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
  | Write<'createRole' | 'modifyRole', OfRole<NewRoleFields>>
  | Write<'deleteRole', OfRole>
  | Write<'addRoleACL', OfRole<AclEntry>>
  | Write<'removeRoleACL', OfRole<{ readonly acltype: AclType; readonly topic: string }>>
  | Write<'setDefaultACLAccess', { readonly acls: readonly Readonly<{ acltype: DefaultAclType; allow: boolean }>[] }>;

export type FieldsOf<Command extends DynsecWrite['command']> = (DynsecWrite & {
  readonly command: Command;
})['fields'];

export const roleEntry = ({ name, priority }: Membership): RoleEntry => ({ rolename: name, priority });
export const groupEntry = ({ name, priority }: Membership): GroupEntry => ({ groupname: name, priority });
export const memberEntry = ({ name, priority }: Membership): MemberEntry => ({ username: name, priority });
export const aclEntry = ({ aclType, topic, priority, allow }: AclRule): AclEntry => ({
  acltype: aclType,
  topic,
  priority,
  allow,
});

export const fromRole = ({ rolename, priority }: RoleEntry): Membership => ({ name: rolename, priority });
export const fromGroup = ({ groupname, priority }: GroupEntry): Membership => ({ name: groupname, priority });
export const fromAcl = ({ acltype, topic, priority, allow }: AclEntry): AclRule => ({
  aclType: acltype,
  topic,
  priority,
  allow,
});

export const newTexts = ({ textname, textdescription }: TextFields) => ({
  textName: textname || null,
  textDescription: textdescription || null,
});

export const changedTexts = ({ textname, textdescription }: TextFields) => ({
  ...(textname === undefined ? {} : { textName: textname || null }),
  ...(textdescription === undefined ? {} : { textDescription: textdescription || null }),
});
