import { Link } from 'wouter';
import { accessAddress } from '../access/addresses.ts';
import type { RefusalReason } from '../advice/reason-texts.ts';
import { useBroker } from '../broker/broker-context.ts';
import { useTexts } from '../texts/texts.ts';
import { refusalTexts } from './texts.ts';

type Place = 'setPassword' | 'toAccount' | 'createAccount' | 'toGroups' | 'toListeners' | 'toCertificates' | 'toTopics';

/** Where an operator can do something about a refusal. For other reasons only the client can be corrected. */
const PLACES: Partial<Record<RefusalReason, readonly Place[]>> = {
  UNKNOWN_ACCOUNT: ['createAccount'],
  WRONG_PASSWORD: ['setPassword'],
  PASSWORD_MISSING: ['setPassword'],
  NOT_AUTHORIZED: ['toAccount', 'createAccount'],
  THROTTLED: ['setPassword'],
  ACCOUNT_DISABLED: ['toAccount'],
  CLIENT_ID_OF_ACCOUNT: ['toAccount'],
  USERNAME_MISSING: ['toGroups'],
  TOO_MANY_CONNECTIONS: ['toListeners'],
  TLS_ON_PLAIN_LISTENER: ['toListeners'],
  PLAIN_ON_TLS_LISTENER: ['toListeners'],
  TLS_CERTIFICATE_NOT_TRUSTED: ['toListeners', 'toCertificates'],
  TLS_REFUSED_BY_CLIENT: ['toListeners', 'toCertificates'],
  TLS_NOT_CONFIGURED: ['toCertificates'],
  TOO_MANY_RETAINED: ['toTopics'],
};

export function WhatToDo({ reason, username }: { readonly reason: RefusalReason; readonly username: string | null }) {
  const text = useTexts(refusalTexts);
  const { id, project } = useBroker();
  const ofAccount = username === null ? null : accessAddress(id, 'accounts', { name: username });
  const addresses: Readonly<Record<Place, string | null>> = {
    setPassword: ofAccount,
    toAccount: ofAccount,
    createAccount: accessAddress(id, 'accounts'),
    toGroups: accessAddress(id, 'groups'),
    toListeners: `/brokers/${id}`,
    toCertificates: `/projects/${project.id}/certificates`,
    toTopics: `/brokers/${id}/topics`,
  };
  const places = (PLACES[reason] ?? []).flatMap((place) => {
    const address = addresses[place];
    return address === null ? [] : [{ place, address }];
  });
  if (places.length === 0) return null;
  return (
    <ul>
      {places.map(({ place, address }) => (
        <li key={place}>
          <Link href={address}>{text(place, { name: username })}</Link>
        </li>
      ))}
    </ul>
  );
}
