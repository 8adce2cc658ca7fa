import { Component, type ReactNode } from 'react';
import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { failureTexts } from './texts.ts';

interface ScreenFailureProps {
  /** Address of the screen: another screen is rendered again. */
  readonly address: string;
  readonly children: ReactNode;
}

interface Failure {
  readonly address: string;
  readonly message: string;
}

/** Shows a fault of a screen in its place, so that the menu still works. */
export class ScreenFailure extends Component<ScreenFailureProps, { readonly failure: Failure | null }> {
  override readonly state: { readonly failure: Failure | null } = { failure: null };

  override componentDidCatch(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.setState({ failure: { address: this.props.address, message } });
  }

  override render(): ReactNode {
    const { failure } = this.state;
    const { address, children } = this.props;
    return failure?.address === address ? <Fault message={failure.message} /> : children;
  }
}

function Fault({ message }: { readonly message: string }) {
  const text = useTexts(failureTexts);
  return (
    <div role="alert">
      <PageHeading>{text('screenFailed')}</PageHeading>
      <p>
        <code>{message}</code>
      </p>
      <button type="button" onClick={() => location.reload()}>
        {text('reload')}
      </button>
    </div>
  );
}
