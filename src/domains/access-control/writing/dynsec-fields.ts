import type { AclRule, Membership } from '../policy/access-model.ts';
import type { AclEntry, GroupEntry, MemberEntry, RoleEntry, TextFields } from './dynsec-writes.ts';

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
