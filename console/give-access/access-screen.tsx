import { Suspense } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { Access } from '../access/access.tsx';
import { useAccess } from '../access/access-context.ts';
import { accessAddress } from '../access/addresses.ts';
import { later } from '../ui/later.ts';

const GiveAccess = later(async () => (await import('./give-access.tsx')).GiveAccess);

/** The access control of a broker. At `giveAccessAddress` the dialog for a device is open. */
export function AccessScreen() {
  return (
    <Access>
      <Suspense>
        <DeviceOfAddress />
      </Suspense>
    </Access>
  );
}

function DeviceOfAddress() {
  const [, go] = useLocation();
  const [search] = useSearchParams();
  const { brokerId, canChange } = useAccess();
  if (!canChange || search.get('new') !== 'device') return null;
  return (
    <GiveAccess
      account={search.get('account') ?? ''}
      clientId={search.get('client') ?? ''}
      onClose={() => go(accessAddress(brokerId, 'accounts'), { replace: true })}
    />
  );
}
