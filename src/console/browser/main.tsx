import './styles/tokens.css';
import './styles/frame.css';
import './styles/controls.css';
import './styles/answers.css';
import './styles/narrow.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';

const root = document.getElementById('console');
if (root !== null) {
  // PageBoundary shows the error, so it is not logged.
  createRoot(root, { onCaughtError: () => undefined }).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
