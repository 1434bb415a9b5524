import { Component, type ReactNode } from 'react';
import { Problem } from '../api/client.js';
import { Failure } from './failure.js';

interface PageBoundaryProps {
  /** Of the page: another one is tried anew. */
  path: string;
  children: ReactNode;
}

interface State {
  error: Error | null;
}

const TEXT = 'It did not arrive whole, or has a fault. Retry loads the console anew.';

/** Says in the place of a page that it could not be shown, such as when the service did not answer for its script. */
export class PageBoundary extends Component<PageBoundaryProps, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override componentDidUpdate({ path }: PageBoundaryProps): void {
    if (this.state.error !== null && path !== this.props.path) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main id="main" className="stack" tabIndex={-1}>
        <h1>This page could not be shown</h1>
        <Failure problem={new Problem(0, error.message, TEXT, null, null, [])} retry={() => location.reload()} />
      </main>
    );
  }
}
