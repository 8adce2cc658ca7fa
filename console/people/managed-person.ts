export interface ManagedPerson {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly isRootAdmin: boolean;
  readonly isRemovable: boolean | null;
  readonly isVerified: boolean;
  readonly ssoType: 'SSO' | 'LDAP' | null;
  readonly hasSecondFactor: boolean | null;
  readonly isSecondFactorRequired: boolean | null;
  readonly projectCount: number | null;
}

/** In the catalogue of people. */
export function secondFactorOf(person: Pick<ManagedPerson, 'hasSecondFactor' | 'isSecondFactorRequired' | 'ssoType'>) {
  if (person.hasSecondFactor) return 'yes';
  return person.isSecondFactorRequired && person.ssoType === null ? 'requiredAndMissing' : 'no';
}

export interface PersonActionProps {
  readonly person: ManagedPerson;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}
