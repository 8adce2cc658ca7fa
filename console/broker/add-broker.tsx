import { Suspense } from 'react';
import { later } from '../ui/later.ts';
import { useOpened } from '../ui/use-opened.ts';
import type { AddBrokerDialogProps } from './add-broker-dialog.tsx';

const AddBrokerDialog = later<AddBrokerDialogProps>(
  async () => (await import('./add-broker-dialog.tsx')).AddBrokerDialog,
);

interface AddBrokerProps extends Omit<AddBrokerDialogProps, 'onClose'> {
  readonly label: string;
}

/** Adds a broker that runs elsewhere. The form is loaded when it is opened. */
export function AddBroker({ label, ...props }: AddBrokerProps) {
  const [isOpen, setOpen] = useOpened(props.project.id);
  return (
    <>
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Suspense>
          <AddBrokerDialog {...props} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
