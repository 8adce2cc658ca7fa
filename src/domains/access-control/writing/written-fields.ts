import type { AclRule, Membership } from '../policy/access-model.ts';
import type { AclEntry, GroupEntry, RoleEntry } from './dynsec-writes.ts';

/* What commands carry, as the model has it. */

export const fromRole = ({ rolename, priority }: RoleEntry): Membership => ({ name: rolename, priority });
export const fromGroup = ({ groupname, priority }: GroupEntry): Membership => ({ name: groupname, priority });
export const fromAcl = ({ acltype, topic, priority, allow }: AclEntry): AclRule => ({
  aclType: acltype,
  topic,
  priority,
  allow,
});

interface WireTexts {
  readonly textname?: string;
  readonly textdescription?: string;
}

export const newTexts = ({ textname, textdescription }: WireTexts) => ({
  textName: textname || null,
  textDescription: textdescription || null,
});

export const changedTexts = ({ textname, textdescription }: WireTexts) => ({
  ...(textname === undefined ? {} : { textName: textname || null }),
  ...(textdescription === undefined ? {} : { textDescription: textdescription || null }),
});
