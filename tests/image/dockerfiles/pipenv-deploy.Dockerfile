FROM python:3.10
RUN pip install pipenv==2023.12.1
COPY Pipfile Pipfile.lock ./
RUN pipenv install --system --deploy
