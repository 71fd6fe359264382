-- hint_listen
listen turno
