import { lazy } from 'react';
import { useParams } from 'wouter';
import { clientIdIn } from '../clients/client-address.ts';
import { ClientList } from '../clients/client-list.tsx';

const Client = lazy(async () => ({ default: (await import('./client.tsx')).Client }));

/** The clients of a broker; below its address, one client. */
export function Clients() {
  const { '*': part = '' } = useParams<{ '*': string }>();
  const clientId = clientIdIn(part);
  return clientId === '' ? <ClientList /> : <Client key={clientId} clientId={clientId} />;
}
