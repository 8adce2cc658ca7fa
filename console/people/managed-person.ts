export interface ManagedPerson {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly isRootAdmin: boolean;
  readonly isRemovable: boolean | null;
  readonly isVerified: boolean;
  readonly ssoType: 'SSO' | 'LDAP' | null;
  readonly hasSecondFactor: boolean | null;
  readonly projectCount: number | null;
}

export interface PersonActionProps {
  readonly person: ManagedPerson;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}
